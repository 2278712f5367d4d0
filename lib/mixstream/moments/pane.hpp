// The moments of one stretch of the stream: an accumulator set per magnitude bin, and a sample. Holds Boost's
// accumulators, so only .cpp files include it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mixstream/moments/bins.hpp"
#include "mixstream/moments/features/moment_set.hpp"
#include "mixstream/rows/pilot.hpp"
#include "mixstream/rows/reservoir.hpp"

namespace mixstream {

struct Pane {
  std::array<MomentSet, bin_count> bins;
  Reservoir reservoir;

  Pane(const BlockKernel& kernel, std::size_t reservoir_rows, const Layout& layout);

  RowMoments& moments(std::size_t bin) noexcept { return held_moments(bins[bin]); }
  const RowMoments& moments(std::size_t bin) const noexcept { return row_moments(bins[bin]); }

  /// Files a row. No throw, no allocation; at most one block is folded in.
  void put(const PilotRow& row, std::uint8_t bin, const BlockKernel& kernel, double* workspace) noexcept {
    bins[bin](row);
    if (moments(bin).pending.full()) moments(bin).fold(kernel, workspace);
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
  friend bool operator==(const Pane& one, const Pane& two);
};

}  // namespace mixstream
