// A fit as predictions need it, read back from its JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/modes/model.hpp"

namespace mixstream {

/// What a prediction needs of a fit.
struct FittedLaws {
  Mixture mixture;
  std::vector<std::string> features;
  std::string response;
  std::optional<std::string> group{};
  std::string map{};     ///< the feature map's text; empty: the features joined by commas
  std::string status{};  ///< of the fit, such as "poor_fit"; empty: not said
  ModeShape shape{};     ///< which parts the model has beside independent rows with Gaussian noise
  std::optional<ModeModel> model{};  ///< raw coordinates, where it has such parts
};

/// Reads the laws back from one line of to_json. Refuses what is not such a line, naming what is missing.
Outcome<FittedLaws> laws_from_json(std::string_view line);

}  // namespace mixstream
