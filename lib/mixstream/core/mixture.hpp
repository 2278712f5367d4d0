// The answer: k linear laws with weights and noise.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mixstream {

/// A mixture of linear regressions: h ~ pi, y = beta_h . x + eps, eps ~ N(0, s2_h).
struct Mixture {
  std::size_t feature_count = 0;        ///< d
  std::vector<double> weights;          ///< pi_h, sum to one; their number is k
  std::vector<double> coefficients;     ///< B, row-major k x d: row h is beta_h
  std::vector<double> noise_variances;  ///< s2_h, all equal under shared noise

  std::size_t component_count() const noexcept { return weights.size(); }
  std::span<const double> law(std::size_t component) const noexcept {  ///< beta_h
    return {coefficients.data() + component * feature_count, feature_count};
  }
  std::span<double> law(std::size_t component) noexcept {
    return {coefficients.data() + component * feature_count, feature_count};
  }
  friend bool operator==(const Mixture&, const Mixture&) = default;
};

/// A mixture with room for k components of d features, all zero.
Mixture empty_mixture(std::size_t component_count, std::size_t feature_count);

/// Whether every number of the mixture is finite. No throw, no allocation.
bool is_finite(const Mixture& mixture) noexcept;

/// The mixture with components in another order: component h of the result is order[h] of the input.
Mixture relabelled(const Mixture& mixture, std::span<const std::size_t> order);

}  // namespace mixstream
