// Symmetric tensors of degree 1 to 3 in collapsed form: m = cvec(M), the distinct entries in the order of
// collapsed_power, each times the square root of its multiplicity, so that <M, M'> = m . m'.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mixstream/core/dense.hpp"

namespace mixstream {

/// Where the entries of the d x d^(p-1) unfolding stand in cvec, for one dimension d and degree p in 1..3.
class SymmetricShape {
 public:
  SymmetricShape() = default;
  /// Throws std::invalid_argument unless d >= 0 and 1 <= degree <= 3.
  SymmetricShape(int dimension, int degree);

  int dimension() const noexcept { return dimension_; }
  int degree() const noexcept { return degree_; }
  std::size_t size() const noexcept { return root_multiplicity_.size(); }  ///< N(d, p)
  std::span<const double> root_multiplicity() const noexcept { return root_multiplicity_; }
  const std::vector<std::vector<int>>& tuples() const noexcept { return tuples_; }
  /// Position in cvec of an entry of the unfolding, row-major: (i * d + j) * d + l for degree 3.
  std::size_t position(std::size_t entry) const noexcept { return positions_[entry]; }

  /// cvec(M) -> the unfolding of M. An isometry. No allocation when the shape is there already.
  void unfold(std::span<const double> collapsed, DenseMatrix& unfolding) const;
  /// Its adjoint: unfolding -> cvec of its symmetric part. No allocation.
  void fold(const DenseMatrix& unfolding, std::span<double> collapsed) const noexcept;

  /// cvec(v^(p)). No allocation.
  void power(std::span<const double> vector, std::span<double> collapsed) const noexcept;
  /// collapsed += weight * cvec(v^(p)). No allocation.
  void add_power(std::span<const double> vector, double weight, std::span<double> collapsed) const noexcept;

 private:
  int dimension_ = 0;
  int degree_ = 1;
  std::vector<std::vector<int>> tuples_;
  std::vector<double> root_multiplicity_;
  std::vector<std::uint32_t> positions_;
};

/// The matrix L with phi_p(V'x) = L' phi_p(x): N(d, p) x N(r, p), for V of d x r.
/// Equally cvec(S(V', .., V')) = L cvec(S). Cost N(d, p) N(r, p) p!.
void lift(const DenseMatrix& basis, const SymmetricShape& outer, const SymmetricShape& inner,
          DenseMatrix& result);

}  // namespace mixstream
