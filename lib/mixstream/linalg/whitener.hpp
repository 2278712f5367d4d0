// Weights of conditions: what turns a covariance into unity.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mixstream/linalg/matrix.hpp"

namespace mixstream::linalg {

/// Applies a W with W'W = inverse of a covariance: by Cholesky where the covariance is regular, by
/// inverse_root where it is not. Allocates; n^3 / 3 operations, in slices.
class Whitener {
 public:
  explicit Whitener(const DenseMatrix& covariance, std::size_t leading);

  std::size_t rank() const noexcept { return rank_; }

  /// W M for a matrix with as many rows as the covariance; the result has rank() rows.
  void apply(std::span<const double> rows, std::size_t columns, std::vector<double>& result) const;

  /// tr(W C W') / rank for the covariance C behind another whitener: one for its own.
  double mean_variance(const Whitener& other) const;

 private:
  double scale_into_factor(const DenseMatrix& covariance);
  void scale_rows(std::vector<double>& values, std::size_t columns) const;
  std::vector<double> root() const;  // S with S S' = C: size x rank

  std::size_t size_ = 0;
  std::size_t rank_ = 0;
  bool regular_ = false;
  std::vector<double> inverse_scale_;  // 1 / sqrt(diagonal)
  std::vector<double> factor_;         // lower Cholesky factor of the scaled covariance, row-major; or W
};

}  // namespace mixstream::linalg
