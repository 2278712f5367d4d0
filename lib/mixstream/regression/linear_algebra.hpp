// The few dense operations that the solvers need, on plain storage: Blaze and LAPACK stay behind this file.
//
// Outputs are resized to fit; a buffer that already has the shape is reused without allocation. BLAS runs on
// one thread. Nothing here throws on numbers: a decomposition that fails says so.
#pragma once

#include <span>
#include <vector>

#include "mixstream/core/dense.hpp"

namespace mixstream {

/// A matrix of zeros, reusing the storage of `matrix` where it is large enough.
void reshape(DenseMatrix& matrix, std::size_t rows, std::size_t columns);

/// result = left * right.
void multiply(const DenseMatrix& left, const DenseMatrix& right, DenseMatrix& result);
/// result = left' * right.
void multiply_transposed(const DenseMatrix& left, const DenseMatrix& right, DenseMatrix& result);
/// result = matrix * vector; no allocation. result must not overlap vector.
void multiply(const DenseMatrix& matrix, std::span<const double> vector, std::span<double> result) noexcept;
/// result = matrix' * vector; no allocation. result must not overlap vector.
void multiply_transposed(const DenseMatrix& matrix, std::span<const double> vector,
                         std::span<double> result) noexcept;

double dot(std::span<const double> left, std::span<const double> right) noexcept;
double norm(std::span<const double> vector) noexcept;

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

/// Solves matrix * solution = solution in place by Cholesky; the matrix is overwritten. False unless positive
/// definite. n^3/3 operations, no allocation.
bool cholesky_solve(DenseMatrix& matrix, std::span<double> solution) noexcept;

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

/// The null_count of ScaledEigen without its vectors, an eighth of the cost; all where that fails.
std::size_t null_count_of(const DenseMatrix& matrix, double cutoff);

}  // namespace mixstream
