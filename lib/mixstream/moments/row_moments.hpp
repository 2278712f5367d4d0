// Block and tensor: the sums of z^(6) of rows in pilot coordinates, and the rows that wait for a full block.
// What the Boost.Accumulators feature `row_moments` owns (features/row_moments.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "mixstream/core/layout.hpp"
#include "mixstream/moments/tensor.hpp"
#include "mixstream/monomials/kernel.hpp"

namespace mixstream {

/// A row in pilot coordinates: z, or null where z stands in the block's next row already. A weight w says how
/// many equal rows it stands for; where the past fades, all of them count by the same growth g.
struct PilotRow {
  const double* variables = nullptr;
  double weight = 1.0;         ///< w g
  double weight_square = 1.0;  ///< w g^2: the sum of squares over those rows
};

/// (sum, compensation) += term, with what rounding takes from the sum kept in the second (Knuth's two-sum).
/// No throw.
inline void add_compensated(double& sum, double& compensation, double term) noexcept {
  const double total = sum + term;
  const double kept = total - sum;
  compensation += (sum - (total - kept)) + (term - kept);
  sum = total;
}

/// sums + compensation is the total in two terms.
struct RowMoments {
  Layout layout;
  AlignedDoubles sums;          ///< pivot order
  AlignedDoubles compensation;  ///< what rounding took from sums
  RowBlock pending{1, 0};       ///< rows in pilot coordinates that wait for a full block
  std::uint64_t rows = 0;       ///< pending ones included
  double weight_squares = 0.0;  ///< sum of w g^2, pending ones included

  RowMoments() = default;  ///< without room for any row
  RowMoments(const BlockKernel& kernel, const Layout& row_layout);
  double weight() const noexcept;  ///< sum of w g, pending ones included

  /// Puts a row among the pending ones; the block must not be full. No throw, no allocation.
  void take(const PilotRow& row) noexcept {
    if (row.variables != nullptr)
      pending.append(row.variables, row.weight);
    else
      pending.count_next_row(row.weight);
    ++rows;
    weight_squares += row.weight_square;
  }
  /// Folds the pending rows into the sums. No throw, no allocation.
  void fold(const BlockKernel& kernel, double* workspace) noexcept;
  void clear() noexcept;
  void scale(double factor) noexcept;  ///< every weight, by a power of two: exact
  /// Adds sums without pending rows in the same coordinates, weights times `factor`. No throw, no allocation.
  void add(const RowMoments& other, double factor) noexcept;

  friend bool operator==(const RowMoments&, const RowMoments&) = default;
};

/// E[y^power phi_left phi_right'] in the rows' own coordinates, pending rows included. Allocates the result;
/// reads the sums that it needs where they are.
DenseMatrix view(const RowMoments& moments, int power, int left, int right);

/// The same of a settled tensor, in its coordinates.
inline DenseMatrix view(const MomentTensor& tensor, int power, int left, int right) {
  return tensor.view(power, left, right);
}

}  // namespace mixstream
