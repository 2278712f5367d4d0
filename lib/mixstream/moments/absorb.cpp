// How a row enters the state.
#include <algorithm>
#include <cmath>

#include "mixstream/moments/absorb.hpp"

namespace mixstream {

RowFault MomentState::absorb(const Row& row) noexcept {
  const BulkStep step = step_into_bulk<LastRow::kept>(row);
  return step == BulkStep::done ? RowFault::none : end_step(row, step);
}

/// What the short way leaves to do.
RowFault MomentState::end_step(const Row& row, BulkStep step) noexcept {
  if (step == BulkStep::refused) return judge_and_file(row);
  end_bulk_row(row);
  return RowFault::none;
}

/// Folds in a full block, and offers the row that was taken last to the sample.
void MomentState::end_bulk_row(const Row& row) noexcept {
  Pane& pane = panes_[0];
  if (pane.moments(0).pending.full()) pane.moments(0).fold(*kernel_, workspace_.data());
  pane.reservoir.offer(row, row_hash(source_hash_, position_ - 1), row.weight, 0);
}

/// The way of all other rows.
RowFault MomentState::judge_and_file(const Row& row) noexcept {
  const std::uint64_t hash = row_hash(source_hash_, position_++);
  RowFault fault =
      check(row, static_cast<std::size_t>(settings_.layout.feature_count), settings_.layout.constant_feature);
  if (fault == RowFault::none) fault = pilot_fixed_ ? file(row, hash) : keep(row, hash);
  ++row_counts_[static_cast<std::size_t>(fault)];
  return fault;
}

/// Takes a sound row into the first block, and ends the block when it is full.
RowFault MomentState::keep(const Row& row, std::uint64_t hash) noexcept {
  first_block_.add(row, hash);
  if (first_block_.size() < settings_.pilot_rows) return RowFault::none;
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
RowFault MomentState::file(const Row& row, std::uint64_t hash) noexcept {
  const double largest = transform(row);
  if (largest > largest_variable) return RowFault::too_large;
  double growth = 1.0;
  switch (settings_.memory.kind) {
    case Memory::Kind::everything:
    case Memory::Kind::three_parts:
      break;
    case Memory::Kind::half_life_rows:
      growth = growth_at(static_cast<double>(filed_));
      break;
    case Memory::Kind::half_life_seconds:
      if (!forgetting_.believes(row.time)) return RowFault::clock_jump;
      growth = growth_at(row.time);
      break;
    case Memory::Kind::window_rows:
      make_room_in_window();
      break;
  }
  last_bin_ = bin_of(largest);
  const bool in_parts = settings_.memory.kind == Memory::Kind::three_parts;
  Pane& pane = panes_[in_parts ? static_cast<std::size_t>(filed_ % part_count) : active_];
  const double weight = row.weight * growth;
  pane.put({variables_.data(), weight, weight * growth}, last_bin_, *kernel_, workspace_.data());
  pane.reservoir.offer(row, hash, weight, last_bin_);
  ++filed_;
  return RowFault::none;
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
