// Solves with a symmetric, positive semidefinite matrix without allocating: for steps taken inside the
// stream. Solvers that may allocate use Blaze and LAPACK.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mixstream {

/// Cholesky with pivoting, after scaling to a unit diagonal: rank-revealing. Solutions are the shortest in
/// units of that scale, so they have nothing along directions that the matrix does not determine. Matrices
/// are lower triangles, packed row by row.
class PivotedCholesky {
 public:
  explicit PivotedCholesky(std::size_t size);  ///< allocates 2 size^2 numbers

  std::size_t size() const noexcept { return size_; }

  /// Factors the matrix; returns its numerical rank (0 if an entry is not finite). No throw, no allocation;
  /// size^3 / 3 products.
  std::size_t factor(std::span<const double> packed) noexcept;
  std::size_t rank() const noexcept { return rank_; }

  /// vector = A^+ vector, in place. No throw, no allocation; rank^2 products.
  void solve(std::span<double> vector) noexcept;

  /// vector = R^+ vector in place, where R'R = A: a draw of unit covariance becomes one of covariance A^+. No
  /// throw, no allocation.
  void solve_root(std::span<double> vector) noexcept;

  /// vector' A^+ vector. No throw, no allocation; rank^2 / 2 products.
  double inverse_form(std::span<const double> vector) noexcept;

  /// A^+, packed. No throw, no allocation; size^3 products.
  void inverse(std::span<double> packed) noexcept;

 private:
  void forward(std::span<const double> vector) noexcept;  // work = L^-1 P' D vector
  void back(std::span<double> vector) noexcept;           // vector = D P (L'^-1 work, less its null part)
  void find_null_space() noexcept;
  void remove(const double* unit, double* vector) const noexcept;

  std::size_t size_;
  std::size_t rank_ = 0;
  std::vector<double> lower_;       // rows in pivoted order, size x size
  std::vector<double> scale_;       // 1 / sqrt(a_ii)
  std::vector<std::size_t> order_;  // pivoted position -> index
  std::vector<double> work_;
  std::vector<double> column_;
  std::vector<double> null_;  // rows from rank_ on: unit vectors with L'v = 0, pivoted order
};

}  // namespace mixstream
