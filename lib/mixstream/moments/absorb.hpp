// The short way of nearly all rows into the state: those of bin 0, where nothing is forgotten. It calls
// nothing, so that it saves few registers; what is rare has functions of its own. To be compiled into the two
// callers that take single rows: MomentState::absorb and the sensor loop.
#pragma once

#include <cmath>
#include <cstring>

#include "mixstream/moments/pane.hpp"
#include "mixstream/moments/state.hpp"

namespace mixstream {

using TwoMasks [[gnu::vector_size(16)]] = long long;

/// Variables on their way from a row into a block, and whether all of them belong into bin 0: one comparison
/// each is check and bin in one, for NaN fails it too.
struct BulkRow {
  const double* shift;
  const double* inverse_scale;
  double* z;      ///< where they are kept one after the other; null: nowhere
  double* place;  ///< where the next one stands in the block; the one after it `stride` further on
  std::size_t stride;
  std::size_t variable = 1;  ///< the next one
  TwoMasks inside{-1, -1};

  void take(TwoDoubles values) noexcept {
    constexpr TwoDoubles limit{bin_limits[0] * bin_limits[0], bin_limits[0] * bin_limits[0]};
    const TwoDoubles scaled =
        (values - two_doubles_at(shift + variable)) * two_doubles_at(inverse_scale + variable);
    inside &= scaled * scaled <= limit;
    if (z != nullptr) std::memcpy(z + variable, &scaled, sizeof scaled);
    place[0] = scaled[0];
    place[stride] = scaled[1];
    place += 2 * stride;
    variable += 2;
  }
  void take(double value) noexcept {
    const double scaled = (value - shift[variable]) * inverse_scale[variable];
    if (!(std::abs(scaled) <= bin_limits[0])) inside = TwoMasks{};
    if (z != nullptr) z[variable] = scaled;
    *place = scaled;
    place += stride;
    ++variable;
  }
  bool all_inside() const noexcept {
#if defined(__SSE2__)
    return __builtin_ia32_movmskpd(TwoDoubles(inside)) == 0b11;
#else
    return (inside[0] & inside[1]) != 0;
#endif
  }
};

/// Writes a sound row of bin 0 and weight 1 behind the pending ones, without counting it. False for any other
/// row, and nothing has changed.
template <LastRow last>
inline bool MomentState::write_into_bulk(const Row& row) noexcept {
  const std::size_t d = row.features.size();
  if (d != first_block_.rows.feature_count || row.weight != 1.0) return false;
  if (!(std::abs(row.time) <= largest_magnitude)) return false;
  RowBlock& pending = panes_[0].moments(0).pending;
  const std::size_t stride = column_stride(pending.capacity());
  BulkRow taken{.shift = pilot_.shift.data(),
                .inverse_scale = inverse_scale_.data(),
                .z = last == LastRow::kept ? variables_.data() : nullptr,
                .place = pending.next_row() + stride,
                .stride = stride};
  const double* x = row.features.data();
  if (const std::size_t before = features_before_constant_; before < d) {
    while (taken.variable <= before) taken.take(*x++);
    if (*x++ != 1.0) return false;
  }
  const double* const end = row.features.data() + d;
  for (; end - x >= 2; x += 2) taken.take(two_doubles_at(x));
  if (x < end)
    taken.take(TwoDoubles{*x, row.response});
  else
    taken.take(row.response);
  return taken.all_inside();
}

/// Takes the row if it goes the short way. Says what is left to do, so that a caller can leave that to its
/// last call and keep no register over it.
template <LastRow last>
inline BulkStep MomentState::step_into_bulk(const Row& row) noexcept {
  if (!bulk_is_open_ || !write_into_bulk<last>(row)) return BulkStep::refused;
  Pane& pane = panes_[0];
  pane.bins[0](PilotRow{});  // it stands in the block already
  if (last == LastRow::kept) last_bin_ = 0;
  ++filed_;
  ++row_counts_[0];
  const std::uint64_t hash = row_hash(source_hash_, position_++);
  return pane.moments(0).pending.full() || pane.reservoir.wants(hash, 1.0) ? BulkStep::to_end
                                                                           : BulkStep::done;
}

}  // namespace mixstream
