// The small linear algebra that refinement shares. Includes Blaze: for .cpp files of this folder only.
#pragma once

#include <blaze/Math.h>

#include <cstddef>
#include <span>
#include <vector>

#include "mixstream/core/dense.hpp"

namespace mixstream::numerics {

using Matrix = blaze::DynamicMatrix<double, blaze::rowMajor>;
using Vector = blaze::DynamicVector<double, blaze::columnVector>;
using MatrixView = blaze::CustomMatrix<double, blaze::unaligned, blaze::unpadded, blaze::rowMajor>;

/// Keeps the BLAS to the calling thread: matrices here are small, and its threads would wait for each other
/// on a busy machine far longer than they work.
void use_one_thread();

Matrix to_blaze(const DenseMatrix& matrix);
DenseMatrix to_dense(const Matrix& matrix);
inline MatrixView view_of(DenseMatrix& matrix) {
  return {matrix.values.data(), matrix.rows, matrix.columns};
}

/// Rows W with W A W' = 1 on the numerical range of the symmetric A: rank-revealing, after scaling to unit
/// diagonal; eigenvalues below 1e-9 of the largest drop out. Throws std::runtime_error when LAPACK does.
Matrix inverse_root(const Matrix& symmetric);

/// The pseudo-inverse of a symmetric non-negative matrix, in the same scaled sense.
Matrix pseudo_inverse(const Matrix& symmetric);

/// Applies a W with W'W = inverse of a covariance: by Cholesky where the covariance is regular, by
/// inverse_root where it is not.
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

}  // namespace mixstream::numerics
