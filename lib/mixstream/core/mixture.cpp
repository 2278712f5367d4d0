#include "mixstream/core/mixture.hpp"

#include <algorithm>
#include <cmath>

namespace mixstream {

Mixture empty_mixture(std::size_t component_count, std::size_t feature_count) {
  return {feature_count, std::vector<double>(component_count),
          std::vector<double>(component_count * feature_count), std::vector<double>(component_count)};
}

bool is_finite(const Mixture& mixture) noexcept {
  const auto all_finite = [](const std::vector<double>& values) {
    return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
  };
  return all_finite(mixture.weights) && all_finite(mixture.coefficients) &&
         all_finite(mixture.noise_variances);
}

Mixture relabelled(const Mixture& mixture, std::span<const std::size_t> order) {
  Mixture result = empty_mixture(order.size(), mixture.feature_count);
  for (std::size_t h = 0; h < order.size(); ++h) {
    result.weights[h] = mixture.weights[order[h]];
    result.noise_variances[h] = mixture.noise_variances[order[h]];
    std::ranges::copy(mixture.law(order[h]), result.law(h).begin());
  }
  return result;
}

}  // namespace mixstream
