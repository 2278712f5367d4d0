// The maximisation step of EM, from the sums of the expectation step.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/likelihood/expectation.hpp"
#include "mixstream/linalg/pivoted_cholesky.hpp"

namespace mixstream {

/// Weighted least squares for every component, then weights and noise variances. Allocates at construction
/// only.
class Maximisation {
 public:
  /// Noise variances stay at `floor` or above.
  Maximisation(std::size_t feature_count, NoiseModel noise, double floor);

  /// Moves the mixture at which the sums (Expectation::sums) were taken to the maximum of the expected
  /// likelihood. A component without rows keeps its law and noise. No throw, no allocation; k d^3 / 3
  /// products.
  void operator()(std::span<const double> sums, Mixture& mixture) noexcept;

 private:
  double move_law(const ComponentSums& sums, std::span<double> law) noexcept;

  NoiseModel noise_;
  double floor_;
  std::size_t gram_size_;
  PivotedCholesky factor_;
  std::vector<double> step_;
};

}  // namespace mixstream
