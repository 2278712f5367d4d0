#include "mixstream/model/predictor.hpp"

#include <algorithm>
#include <utility>

namespace mixstream {

RowPrediction Predictor::predict(std::uint64_t sensor, std::span<const double> features,
                                 std::optional<double> response, double level,
                                 std::span<double> probabilities) {
  RowPrediction row = predict_row(laws_.mixture, features, response, level, probabilities);
  if (laws_.model) follow_modes(sensor, features, response, probabilities, row);
  return row;
}

void Predictor::skip(std::uint64_t sensor) {
  if (const auto chain = chains_.find(sensor); chain != chains_.end()) ++chain->second.missing;
}

/// Rows in order: what the rows so far say of the law takes the place of what this row says alone.
void Predictor::follow_modes(std::uint64_t sensor, std::span<const double> features,
                             std::optional<double> response, std::span<double> probabilities,
                             RowPrediction& row) {
  auto chain = chains_.find(sensor);
  if (chain == chains_.end()) chain = chains_.emplace(sensor, Chain{{laws_.shape, *laws_.model}}).first;
  Chain& state = chain->second;
  if (response) {
    const auto modes = state.tracker.follow({features, *response}, 1 + std::exchange(state.missing, 0));
    std::ranges::copy(modes, probabilities.begin());
  } else {
    state.tracker.ahead(1, probabilities);
  }
  row.component = static_cast<std::size_t>(std::ranges::max_element(probabilities) - probabilities.begin());
  row.expected = 0.0;
  for (std::size_t h = 0; h < probabilities.size(); ++h) {
    for (std::size_t j = 0; j < features.size(); ++j)
      row.expected += probabilities[h] * laws_.mixture.law(h)[j] * features[j];
  }
}

}  // namespace mixstream
