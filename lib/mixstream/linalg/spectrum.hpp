// Eigenvalues of symmetric matrices, and what follows from them: rank, pseudo-inverse, root.
//
// Buffers that already have the shape are reused without allocation. BLAS runs on one thread. Nothing here
// throws on numbers unless said: a decomposition that fails says so.
#pragma once

#include <span>
#include <vector>

#include "mixstream/linalg/matrix.hpp"

namespace mixstream {

/// The two cutoffs: an eigenvalue at most this share of the largest, at unit diagonal, is none. Of moments of
/// rows, where only rounding keeps it from zero; and of covariances that are themselves estimates.
inline constexpr double rank_cutoff = 1e-11;
inline constexpr double estimated_cutoff = 1e-9;

/// Eigenvalues in ascending order, and unit eigenvectors as the ROWS of `vectors`.
struct SymmetricEigen {
  std::vector<double> values;
  DenseMatrix vectors;
  /// Decomposes; false when the matrix is not finite or LAPACK gives up. Cost about 10 n^3.
  bool decompose(const DenseMatrix& symmetric);
  /// The same without vectors, about 1.3 n^3, in slices; `vectors` is spoilt.
  bool decompose_values(const DenseMatrix& symmetric);

 private:
  bool begin(const DenseMatrix& symmetric);
  std::vector<double> work_;
  std::vector<int> integer_work_;
};

/// A symmetric positive semidefinite matrix scaled to unit diagonal and decomposed: rank, pseudo-inverse,
/// root.
struct ScaledEigen {
  std::vector<double> scale;   ///< square roots of the diagonal; 1 where it is zero
  SymmetricEigen eigen;        ///< of matrix_ij / (scale_i scale_j)
  std::size_t null_count = 0;  ///< eigenvalues at most cutoff times the largest: the first ones

  bool decompose(const DenseMatrix& matrix, double cutoff);
  std::size_t size() const noexcept { return scale.size(); }
  std::size_t rank() const noexcept { return size() - null_count; }
  /// solution = pseudo-inverse of the matrix times target (least norm in scaled units). Allocation-free but
  /// for `scratch`.
  void solve(std::span<const double> target, std::span<double> solution, std::vector<double>& scratch) const;

 private:
  friend std::size_t null_count_of(const DenseMatrix& matrix, double cutoff);
  void scale_from(const DenseMatrix& matrix);
  void count_null(double cutoff) noexcept;
  DenseMatrix scaled_;
};

/// Rows W with W A W' = 1 on the numerical range of a symmetric non-negative A; at least one. Throws
/// std::runtime_error where the decomposition fails.
DenseMatrix inverse_root(const DenseMatrix& matrix, double cutoff = estimated_cutoff);

/// The pseudo-inverse of a symmetric non-negative matrix, in the same scaled sense. Throws as inverse_root.
DenseMatrix pseudo_inverse(const DenseMatrix& matrix);

/// The null_count of ScaledEigen without its vectors, an eighth of the cost; all where that fails.
std::size_t null_count_of(const DenseMatrix& matrix, double cutoff);

}  // namespace mixstream
