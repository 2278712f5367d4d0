// How a row enters the state.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "mixstream/moments/state.hpp"

namespace mixstream {
namespace {

typedef long long PairMask __attribute__((vector_size(16)));

/// Variables on their way from a row into a block, and whether all of them belong into bin 0: one comparison
/// each is check and bin in one, for NaN fails it too.
struct BulkRow {
  const double* shift;
  const double* inverse_scale;
  double* z;      ///< where they stand one after the other
  double* place;  ///< where the next one stands in the block; the one after it `stride` further on
  std::size_t stride;
  std::size_t variable = 1;  ///< the next one
  PairMask inside{-1, -1};

  void take(Pair values) noexcept {
    constexpr Pair limit{bin_limits[0] * bin_limits[0], bin_limits[0] * bin_limits[0]};
    const Pair scaled = (values - pair_at(shift + variable)) * pair_at(inverse_scale + variable);
    inside &= scaled * scaled <= limit;
    std::memcpy(z + variable, &scaled, sizeof scaled);
    place[0] = scaled[0];
    place[stride] = scaled[1];
    place += 2 * stride;
    variable += 2;
  }
  void take(double value) noexcept {
    const double scaled = (value - shift[variable]) * inverse_scale[variable];
    if (!(std::abs(scaled) <= bin_limits[0])) inside = PairMask{};
    z[variable++] = *place = scaled;
    place += stride;
  }
  bool all_inside() const noexcept { return (inside[0] & inside[1]) != 0; }
};

}  // namespace

/// Writes a sound row of bin 0 behind the pending ones, without counting it. False for any other row, and
/// nothing has changed.
inline bool MomentState::write_into_bulk(const Row& row) noexcept {
  const std::size_t d = row.features.size();
  if (d != first_block_.rows.feature_count || !(std::abs(row.time) <= largest_magnitude)) return false;
  if (row.weight != 1.0 && !(row.weight >= smallest_weight && row.weight <= largest_weight)) return false;
  RowBlock& pending = panes_[0].bins[0].pending;
  const std::size_t stride = column_stride(pending.capacity());
  BulkRow taken{pilot_.shift.data(), inverse_scale_.data(), variables_.data(), pending.next_row() + stride,
                stride};
  const double* x = row.features.data();
  if (const std::size_t before = features_before_constant_; before < d) {
    while (taken.variable <= before) taken.take(*x++);
    if (*x++ != 1.0) return false;
  }
  const double* const end = row.features.data() + d;
  for (; end - x >= 2; x += 2) taken.take(pair_at(x));
  if (x < end)
    taken.take(Pair{*x, row.response});
  else
    taken.take(row.response);
  return taken.all_inside();
}

/// The short way of nearly all rows is here: those of bin 0, where nothing is forgotten. It calls nothing, so
/// that it saves few registers; what is rare has functions of its own.
RowVerdict MomentState::absorb(const Row& row) noexcept {
  const std::uint64_t hash = row_hash(source_hash_, position_++);
  if (!bulk_is_open_ || !write_into_bulk(row)) return judge_and_file(row, hash);
  Pane& pane = panes_[0];
  BinMoments& bulk = pane.bins[0];
  bulk.pending.count_next_row(row.weight);
  bulk.count(row.weight);
  last_bin_ = 0;
  ++filed_;
  ++verdicts_[0];
  if (bulk.pending.full() || pane.reservoir.wants(hash, row.weight)) end_bulk_row(row, hash);
  return RowVerdict::accepted;
}

/// Folds in a full block, and offers the row to the sample.
void MomentState::end_bulk_row(const Row& row, std::uint64_t hash) noexcept {
  Pane& pane = panes_[0];
  if (pane.bins[0].pending.full()) pane.bins[0].fold(*kernel_, workspace_.data());
  pane.reservoir.offer(row, hash, row.weight, 0);
}

/// The way of all other rows.
RowVerdict MomentState::judge_and_file(const Row& row, std::uint64_t hash) noexcept {
  RowVerdict verdict =
      check(row, static_cast<std::size_t>(settings_.layout.feature_count), settings_.layout.constant_feature);
  if (verdict == RowVerdict::accepted) verdict = pilot_fixed_ ? file(row, hash) : keep(row, hash);
  ++verdicts_[static_cast<std::size_t>(verdict)];
  return verdict;
}

/// Takes a sound row into the first block, and ends the block when it is full.
RowVerdict MomentState::keep(const Row& row, std::uint64_t hash) noexcept {
  first_block_.add(row, hash);
  if (first_block_.size() < settings_.pilot_rows) return RowVerdict::accepted;
  return end_first_block();
}

/// z of a row in pilot coordinates, into variables_; returns the largest size in it. Variables follow the
/// features in their order, the constant left out.
double MomentState::transform(const Row& row) noexcept {
  const double* shift = pilot_.shift.data();
  const double* inverse_scale = inverse_scale_.data();
  double* z = variables_.data();
  double largest = 0.0;
  const auto put = [&](std::size_t variable, double value) {
    z[variable] = (value - shift[variable]) * inverse_scale[variable];
    largest = std::max(largest, std::abs(z[variable]));
  };
  const std::size_t d = row.features.size();
  const double* x = row.features.data();
  std::size_t f = 0;
  for (; f < features_before_constant_; ++f) put(f + 1, x[f]);
  for (++f; f < d; ++f) put(f, x[f]);
  put(variables_.size() - 1, row.response);
  return largest;
}

/// Puts a sound row into its bin and offers it to the sample.
RowVerdict MomentState::file(const Row& row, std::uint64_t hash) noexcept {
  const double largest = transform(row);
  if (largest > largest_variable) return RowVerdict::too_large;
  double weight = row.weight;
  switch (settings_.memory.kind) {
    case Memory::Kind::everything:
      break;
    case Memory::Kind::half_life_rows:
      weight *= growth_at(static_cast<double>(filed_));
      break;
    case Memory::Kind::half_life_seconds:
      if (!forgetting_.believes(row.time)) return RowVerdict::clock_jump;
      weight *= growth_at(row.time);
      break;
    case Memory::Kind::window_rows:
      make_room_in_window();
      break;
  }
  last_bin_ = bin_of(largest);
  Pane& pane = panes_[active_];
  pane.put(variables_.data(), weight, last_bin_, *kernel_, workspace_.data());
  pane.reservoir.offer(row, hash, weight, last_bin_);
  ++filed_;
  return RowVerdict::accepted;
}

double MomentState::growth_at(double clock) noexcept {
  if (const double factor = forgetting_.advance(clock); factor != 1.0) {
    panes_[active_].scale(factor);
    rescaled_ *= factor;
  }
  return forgetting_.growth(clock);
}

/// When the active pane is full, the oldest one is emptied and takes its place.
void MomentState::make_room_in_window() noexcept {
  if (rows_in_pane_++ < rows_of_a_pane_) return;
  panes_[active_].flush(*kernel_, workspace_.data());
  active_ = (active_ + 1) % panes_.size();
  panes_[active_].clear();
  rows_in_pane_ = 1;
}

}  // namespace mixstream
