// Intervals of a stream: begun, continued and appended without a copy of the tensors.
#include <algorithm>
#include <utility>

#include "mixstream/moments/pane.hpp"
#include "mixstream/moments/state.hpp"

namespace mixstream {

void MomentState::prepare_interval(const MomentState& total) noexcept {
  if (settings_ != total.settings_) return;
  first_block_.clear();
  for (Pane& pane : panes_) pane.clear();
  pilot_fixed_ = false;
  open_bulk();  // closed, that is
  row_counts_ = {};
  rescaled_ = 1.0;
  filed_ = total.filed_;
  rows_in_pane_ = total.rows_in_pane_;
  active_ = total.active_;
  panes_[active_].reservoir.lower_limit(total.panes_[active_].reservoir.limit());
}

/// Whether no pane has closed between the two.
bool MomentState::same_pane_as(const MomentState& earlier) const noexcept {
  return earlier.rows_in_pane_ + (filed_ - earlier.filed_) == rows_in_pane_ ||
         settings_.memory.kind != Memory::Kind::window_rows;
}

void MomentState::continue_from(const MomentState& running) noexcept {
  Reservoir& sample = panes_[active_].reservoir;
  const double limit = running.same_pane_as(*this) ? sample.limit() / running.rescaled_
                                                   : running.panes_[running.active_].reservoir.limit();
  sample.clear();
  panes_[running.active_].reservoir.lower_limit(limit);
  panes_[running.active_].reservoir.lower_limit(running.panes_[running.active_].reservoir.limit());
  std::ranges::copy(running.pilot_.shift, pilot_.shift.begin());
  std::ranges::copy(running.pilot_.scale, pilot_.scale.begin());
  use_pilot();
  forgetting_ = running.forgetting_;
  row_counts_ = running.row_counts_;
  source_ = running.source_;
  source_hash_ = running.source_hash_;
  position_ = running.position_;
  filed_ = running.filed_;
  rows_in_pane_ = running.rows_in_pane_;
  active_ = running.active_;
}

void MomentState::append(MomentState& interval) noexcept {
  if (is_fresh()) return std::swap(*this, interval);
  interval.flush();
  const std::size_t count = panes_.size();
  if (settings_.memory.kind == Memory::Kind::window_rows && interval.filed_ > filed_) {
    const std::uint64_t entered = interval.filed_ - filed_;
    const std::uint64_t turns = (rows_in_pane_ + entered - 1) / rows_of_a_pane_;
    flush();
    for (std::uint64_t turn = 1; turn <= std::min<std::uint64_t>(turns, count); ++turn)
      panes_[(active_ + turn) % count].clear();
  }
  for (std::size_t p = 0; p < count; ++p) {
    if (interval.rescaled_ != 1.0) panes_[p].scale(interval.rescaled_);
    panes_[p].add(interval.panes_[p], 1.0);
  }
  forgetting_ = interval.forgetting_;
  row_counts_ = interval.row_counts_;
  source_ = interval.source_;
  source_hash_ = interval.source_hash_;
  position_ = interval.position_;
  filed_ = interval.filed_;
  rows_in_pane_ = interval.rows_in_pane_;
  active_ = interval.active_;
}

}  // namespace mixstream
