// What a model is made of, and how it is solved, as a JSON object: {"k": 3, "modes": "persistent"}. The words
// are those of the tool's options; docs/reference/c-interface.md lists them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mixstream/core/outcome.hpp"
#include "mixstream/estimator.hpp"

namespace mixstream {

struct ModelOptions {
  EstimatorSettings estimator;
  std::optional<std::uint64_t> source;  ///< of the rows; nothing: told by the first row
  std::size_t given_features = 0;       ///< as they were given, to be read again
  std::string text;
};

/// For a new model whose rows have `feature_count` numbers x; with "intercept" a constant stands before them.
/// An empty text asks for nothing. Refuses unknown names and values.
Outcome<ModelOptions> read_model_options(std::size_t feature_count, std::string_view json);

/// For a saved state or another fit: how it solves, but for what the options change. Refuses what only a new
/// model can have, such as its features.
Outcome<SolveSettings> read_solve_options(const SolveSettings& base, const std::vector<std::string>& features,
                                          std::string_view json);

}  // namespace mixstream
