// Merging two states: checks first, changes after.
#include <algorithm>

#include "mixstream/moments/pane.hpp"
#include "mixstream/moments/state.hpp"

namespace mixstream {
namespace {

Refusal cannot_merge(const std::string& what) {
  return {Reason::cannot_merge, what};
}

}  // namespace

Done MomentState::may_merge(const MomentState& other, MergeAs as) const {
  const StateSettings& mine = settings_;
  const StateSettings& theirs = other.settings_;
  if (mine.layout != theirs.layout || mine.feature_map != theirs.feature_map) {
    return cannot_merge("the states have different features: '" + mine.feature_map + "' and '" +
                        theirs.feature_map + "'");
  }
  if (mine.response != theirs.response) {
    return cannot_merge("the states have different responses: '" + mine.response + "' and '" +
                        theirs.response + "'");
  }
  if (mine.memory != theirs.memory)
    return cannot_merge("the states remember differently: half-life or window differ");
  if (mine.reservoir_rows != theirs.reservoir_rows)
    return cannot_merge("the states' samples have different sizes");
  const bool needs_telling =
      mine.memory.kind == Memory::Kind::half_life_rows || mine.memory.kind == Memory::Kind::window_rows;
  if (needs_telling && as == MergeAs::one_stream) {
    return cannot_merge(
        "a half-life in rows or a window cannot tell which state's rows are older: merge them as independent "
        "streams, or use a half-life in seconds");
  }
  return std::monostate{};
}

Done MomentState::merge(const MomentState& other, MergeAs as) {
  if (Done done = may_merge(other, as); !done) return done;
  MomentState merged = *this;
  if (other.is_fresh()) {
    merged.add_row_counts(other.row_counts_);
  } else if (is_fresh()) {
    merged = other;
    merged.settings_.seed = settings_.seed;
    merged.settings_.memory_budget = settings_.memory_budget;
    merged.begin_source(source_, position_);
    merged.add_row_counts(row_counts_);
  } else {
    merged.join(other, as);
  }
  if (!merged.finite()) {
    return Refusal{Reason::numerical,
                   "the merged moments would overflow: the states' scales are too far apart"};
  }
  *this = std::move(merged);
  return std::monostate{};
}

/// Nothing has come and no pilot was given: merging such a state changes nothing but counts of refusals.
bool MomentState::is_fresh() const noexcept {
  return !pilot_fixed_ && first_block_.size() == 0;
}

void MomentState::join(MomentState other, MergeAs as) {
  const Memory::Kind kind = settings_.memory.kind;
  if (kind != Memory::Kind::everything &&
      kind != Memory::Kind::three_parts) {  // raw rows would enter as new ones
    settle();
    other.settle();
  }
  if (!other.pilot_fixed_) {
    take(other.first_block_);
    other.row_counts_[0] -= other.first_block_.size();  // counted as they entered
  } else if (!pilot_fixed_) {
    const FirstBlock mine = first_block_;
    first_block_.clear();
    row_counts_[0] -= mine.size();
    pilot_ = other.pilot_;
    use_pilot();
    add_panes(other, as);
    take(mine);
  } else {
    const Pilot target = other.row_count() > row_count() ? other.pilot_ : pilot_;
    other.bring_to(target);
    bring_to(target);
    add_panes(other, as);
  }
  add_row_counts(other.row_counts_);
}

/// Enters raw rows and counts them.
void MomentState::take(const FirstBlock& block) noexcept {
  for (std::size_t i = 0; i < block.size(); ++i) {
    const Row row = block.row(i);
    const RowFault fault = pilot_fixed_ ? file(row, block.hashes[i]) : keep(row, block.hashes[i]);
    ++row_counts_[static_cast<std::size_t>(fault)];
  }
}

void MomentState::add_row_counts(const RowCounts& counts) noexcept {
  for (std::size_t v = 0; v < state_fault_count; ++v) row_counts_[v] += counts[v];
}

void MomentState::bring_to(const Pilot& pilot) {
  if (pilot_ == pilot) return;
  flush();
  const Packing packing(settings_.layout.variables());
  for (Pane& pane : panes_) pane.change_coordinates(packing, pilot_, pilot);
  pilot_ = pilot;
  use_pilot();
}

/// Makes the two clocks comparable; returns what the other's weights must be multiplied by.
double MomentState::align_clocks(const MomentState& other, MergeAs as) noexcept {
  if (!settings_.memory.forgets() || !other.forgetting_.clock().started) return 1.0;
  if (!forgetting_.clock().started) {
    forgetting_ = other.forgetting_;
    filed_ = other.filed_;
    return 1.0;
  }
  if (as == MergeAs::independent_streams) return forgetting_.growth_now() / other.forgetting_.growth_now();
  if (const double factor = forgetting_.advance(other.forgetting_.clock().latest); factor != 1.0) {
    for (Pane& pane : panes_) pane.scale(factor);
  }
  return forgetting_.factor_from(other.forgetting_);
}

/// Adds pane by pane, counted back from each state's present.
void MomentState::add_panes(MomentState& other, MergeAs as) noexcept {
  other.flush();
  const double factor = align_clocks(other, as);
  const std::size_t count = panes_.size();
  for (std::size_t age = 0; age < count; ++age) {
    panes_[(active_ + count - age) % count].add(other.panes_[(other.active_ + count - age) % count], factor);
  }
}

bool MomentState::finite() const noexcept {
  return std::ranges::all_of(panes_, [](const Pane& pane) { return pane.finite(); });
}

}  // namespace mixstream
