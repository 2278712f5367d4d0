// The report as one JSON object on one line; names are a contract (docs/reference/json.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mixstream/core/outcome.hpp"
#include "mixstream/modes/model.hpp"
#include "mixstream/report/report.hpp"

namespace mixstream {

/// One line without its newline. Numbers print so that they read back to the same bits; never NaN.
std::string to_json(const Report& report);

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
