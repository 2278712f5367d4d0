#include "mixstream/mixture.hpp"

#include <algorithm>

namespace mixstream {

Mixture empty_mixture(std::size_t component_count, std::size_t feature_count) {
  return {feature_count, std::vector<double>(component_count),
          std::vector<double>(component_count * feature_count), std::vector<double>(component_count)};
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
