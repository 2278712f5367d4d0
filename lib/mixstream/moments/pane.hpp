// The moments of one stretch of the stream: a tensor per magnitude bin, the rows not yet folded in, and a
// sample.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mixstream/monomials/kernel.hpp"
#include "mixstream/rows/pilot.hpp"
#include "mixstream/rows/reservoir.hpp"

namespace mixstream {

/// A row is filed by its largest variable in pilot units: up to 4, 16, 256, and beyond. The bulk of any
/// stream that is like its first block lies in bin 0; gross outliers get tensors of their own.
inline constexpr std::size_t bin_count = 4;
inline constexpr std::array<double, bin_count - 1> bin_limits{4.0, 16.0, 256.0};

inline std::uint8_t bin_of(double largest) noexcept {
  return static_cast<std::uint8_t>((largest > bin_limits[0]) + (largest > bin_limits[1]) +
                                   (largest > bin_limits[2]));
}

/// (sum, compensation) += term, with what rounding takes from the sum kept in the second (Knuth's two-sum).
/// No throw.
inline void add_compensated(double& sum, double& compensation, double term) noexcept {
  const double total = sum + term;
  const double kept = total - sum;
  compensation += (sum - (total - kept)) + (term - kept);
  sum = total;
}

/// Sums of one bin: sums + compensation is the total in two terms.
struct BinMoments {
  AlignedDoubles sums;          ///< pivot order
  AlignedDoubles compensation;  ///< what rounding took from sums
  RowBlock pending;             ///< rows in pilot coordinates that wait for a full block
  std::uint64_t rows = 0;       ///< pending ones included
  double weight_squares = 0.0;  ///< sum of w^2, pending ones included

  explicit BinMoments(const BlockKernel& kernel);
  double weight() const noexcept;  ///< sum of w, pending ones included
  /// Counts a row that was put among the pending ones. No throw, no allocation.
  void count(double row_weight) noexcept {
    ++rows;
    weight_squares += row_weight * row_weight;
  }
  /// Folds the pending rows into the sums. No throw, no allocation.
  void fold(const BlockKernel& kernel, double* workspace) noexcept;
  friend bool operator==(const BinMoments&, const BinMoments&) = default;
};

struct Pane {
  std::array<BinMoments, bin_count> bins;
  Reservoir reservoir;

  Pane(const BlockKernel& kernel, std::size_t reservoir_rows, std::size_t feature_count);

  /// Files a row. No throw, no allocation; at most one block is folded in.
  void put(const double* variables, double weight, std::uint8_t bin, const BlockKernel& kernel,
           double* workspace) noexcept {
    BinMoments& target = bins[bin];
    target.pending.append(variables, weight);
    target.count(weight);
    if (target.pending.full()) target.fold(kernel, workspace);
  }
  /// Folds the pending rows of every bin in. No throw, no allocation.
  void flush(const BlockKernel& kernel, double* workspace) noexcept;
  /// Multiplies every weight by a power of two: exact. No throw, no allocation.
  void scale(double factor) noexcept;
  /// Adds the sums and the sample of a flushed pane in the same coordinates, weights times `factor`.
  void add(const Pane& other, double factor) noexcept;
  void clear() noexcept;

  /// Rewrites the sums of a flushed pane in other coordinates; bins stay as they were filed.
  void change_coordinates(const Packing& packing, const Pilot& from, const Pilot& to);
  bool finite() const noexcept;
  friend bool operator==(const Pane&, const Pane&) = default;
};

}  // namespace mixstream
