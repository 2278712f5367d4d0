// Merging two states: checks first, changes after.
#include <algorithm>

#include "mixstream/moments/state.hpp"

namespace mixstream {
namespace {

Refusal cannot_merge(const std::string& what) {
  return {Reason::cannot_merge, what};
}

}  // namespace

Verdict MomentState::may_merge(const MomentState& other, MergeAs as) const {
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

Verdict MomentState::merge(const MomentState& other, MergeAs as) {
  if (Verdict verdict = may_merge(other, as); !verdict) return verdict;
  const bool keeps_order =
      settings_.memory.kind != Memory::Kind::everything;  // raw rows would enter as new ones
  MomentState merged = keeps_order && !pilot_fixed_ ? settled() : *this;
  MomentState more = keeps_order && !other.pilot_fixed_ ? other.settled() : other;
  if (!more.pilot_fixed_) {
    more.verdicts_[0] -= more.first_block_.size();  // they are counted as they enter
    merged.take(more.first_block_);
  } else if (!merged.pilot_fixed_) {
    const FirstBlock mine = merged.first_block_;
    merged.first_block_.clear();
    merged.verdicts_[0] -= mine.size();
    merged.pilot_ = more.pilot_;
    merged.use_pilot();
    merged.add_panes(more, as);
    merged.take(mine);
  } else {
    const Pilot target = more.row_count() > merged.row_count() ? more.pilot_ : merged.pilot_;
    more.bring_to(target);
    merged.bring_to(target);
    merged.add_panes(more, as);
  }
  if (!merged.finite()) {
    return Refusal{Reason::numerical,
                   "the merged moments would overflow: the states' scales are too far apart"};
  }
  for (std::size_t v = 0; v < row_verdict_count; ++v) merged.verdicts_[v] += more.verdicts_[v];
  *this = std::move(merged);
  return std::monostate{};
}

void MomentState::take(const FirstBlock& block) noexcept {
  for (std::size_t i = 0; i < block.size(); ++i) {
    Row row = block.rows.row(i);
    row.time = block.times[i];
    enter(row, block.hashes[i]);
  }
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
  if (!settings_.memory.forgets() || !other.forgetting_.started()) return 1.0;
  if (!forgetting_.started()) {
    forgetting_ = other.forgetting_;
    filed_ = other.filed_;
    return 1.0;
  }
  if (as == MergeAs::independent_streams) return forgetting_.growth_now() / other.forgetting_.growth_now();
  if (const double factor = forgetting_.advance(other.forgetting_.latest()); factor != 1.0) {
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
