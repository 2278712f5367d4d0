// Small least squares by Cholesky, without Blaze: what EM solves once per component and iteration.
#pragma once

#include <span>
#include <vector>

#include "mixstream/likelihood/row_blocks.hpp"

namespace mixstream {

/// L L' = G, a packed lower triangle. A tiny ridge, relative to each variable's own size, keeps a singular G
/// solvable: directions that G does not see get a solution near zero.
class SmallCholesky {
 public:
  explicit SmallCholesky(std::size_t size);  ///< of the identity

  /// G as its lower triangle, row by row. No throw, no allocation; d^3 / 6 products.
  void factor(std::span<const double> triangle) noexcept;

  void solve(std::span<double> right) const noexcept;             ///< right becomes G^-1 right
  void solve_transposed(std::span<double> right) const noexcept;  ///< right becomes L'^-1 right

  double length(
      std::span<const double> vector) const noexcept;  ///< |L' vector|, the root of vector' G vector

 private:
  std::size_t size_;
  std::vector<double> factor_;
};

/// The one law of all rows.
struct LeastSquares {
  std::vector<double> law;
  double noise_variance = 0.0;  ///< mean squared residual
  SmallCholesky factor;         ///< of the mean of x x'
};

/// Weighted least squares over all rows. Allocates; cost n d^2. Without rows: zeros.
LeastSquares least_squares(const RowBlocks& rows);

}  // namespace mixstream
