// What the noise is like, and which features choose the law, in words: "per-law,tails", "1,temperature".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mixstream/core/outcome.hpp"
#include "mixstream/core/settings.hpp"

namespace mixstream {

struct Noise {
  NoiseModel model = NoiseModel::shared;
  NoiseShape shape;
  bool chosen_by_rows = false;  ///< "auto"
  friend bool operator==(const Noise&, const Noise&) = default;
};

/// "auto", or a list between commas of shared, per-law (or per-component), tails and memory. A refusal's text
/// continues the name of whatever took the words: "takes a list of ...".
Outcome<Noise> parse_noise(std::string_view words);

/// Places of the features that a list between commas names. A refusal's text continues the name of whatever
/// took the words. Allocates.
Outcome<std::vector<std::size_t>> parse_gate(std::string_view words,
                                             const std::vector<std::string>& features);

/// "per-law,tails"; "shared" where there is nothing to say. Allocates.
std::string noise_words(NoiseModel noise, const NoiseShape& shape);

}  // namespace mixstream
