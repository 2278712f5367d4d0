#include "mixstream/following/mode_trace.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace mixstream {

ModeTrace::ModeTrace(std::size_t component_count, std::size_t most_chains) : k_(component_count) {
  state_.shares.resize(most_stretches * k_);
  state_.stays.resize(k_ * most_lengths);
  state_.now.resize(most_chains);
  state_.last.resize(most_last);
}

bool ModeTrace::is_sound(const ModeTraceState& state, std::size_t component_count, std::size_t most_chains) {
  return state.stretches <= most_stretches && state.stretch_rows > 0 && state.stretch_rows < 1ULL << 60 &&
         state.open_rows < state.stretch_rows && (state.open_rows == 0 || state.stretches > 0) &&
         state.shares.size() == most_stretches * component_count &&
         state.stays.size() == component_count * most_lengths && state.now.size() == most_chains &&
         state.last.size() == most_last &&
         std::ranges::all_of(state.now, [&](const auto& stay) { return stay.mode <= component_count; }) &&
         std::ranges::all_of(state.last,
                             [&](std::uint64_t entry) { return entry % 256 < component_count; }) &&
         std::ranges::all_of(state.shares, [](double rows) { return std::isfinite(rows) && rows >= 0.0; });
}

/// Neighbours join; there are half as many, twice as long.
void ModeTrace::join_stretches() noexcept {
  const std::size_t half = state_.stretches / 2;
  for (std::size_t i = 0; i < half; ++i) {
    for (std::size_t h = 0; h < k_; ++h) stretch(i)[h] = stretch(2 * i)[h] + stretch(2 * i + 1)[h];
  }
  for (std::size_t i = half; i < most_stretches; ++i) std::ranges::fill(stretch(i), 0.0);
  state_.stretches = half;
  state_.stretch_rows *= 2;
}

void ModeTrace::note_stay(const ChainTable::Step& step, std::span<const double> probabilities,
                          std::size_t likeliest) noexcept {
  ModeTraceState::Stay& stay = state_.now[step.slot];
  if (step.steps == 0) stay = {};
  stay.rows += std::max(step.steps, 1U);
  if (!(probabilities[likeliest] >= sure) || stay.mode == likeliest + 1) return;
  if (stay.mode > 0 && stay.whole) {
    const std::uint64_t lasted = std::max<std::uint64_t>(stay.rows - 1, 1);
    const std::size_t length = std::min<std::size_t>(std::bit_width(lasted) - 1, most_lengths - 1);
    ++state_.stays[(stay.mode - 1) * most_lengths + length];
  }
  stay = {likeliest + 1, 1, stay.mode > 0};
}

void ModeTrace::add(const ChainTable::Step& step, std::span<const double> probabilities) noexcept {
  if (state_.open_rows == 0) {
    if (state_.stretches == most_stretches) join_stretches();
    ++state_.stretches;
  }
  const std::span<double> open = stretch(state_.stretches - 1);
  for (std::size_t h = 0; h < k_; ++h) open[h] += probabilities[h];
  if (++state_.open_rows >= state_.stretch_rows) state_.open_rows = 0;
  const auto likeliest =
      static_cast<std::size_t>(std::ranges::max_element(probabilities) - probabilities.begin());
  state_.last[state_.rows++ % most_last] = 256 * step.slot + likeliest;
  note_stay(step, probabilities, likeliest);
}

void ModeTrace::append(const ModeTrace& other) noexcept {
  if (other.k_ != k_ || other.state_.stretches == 0) return;
  ModeTrace added(other);
  while (state_.stretches + added.state_.stretches > most_stretches ||
         state_.stretch_rows != added.state_.stretch_rows) {
    ModeTrace& finer = state_.stretch_rows <= added.state_.stretch_rows ? *this : added;
    if (finer.state_.stretches % 2 != 0) ++finer.state_.stretches;  // the last one stays alone
    finer.join_stretches();
  }
  for (std::size_t i = 0; i < added.state_.stretches; ++i)
    std::ranges::copy(added.stretch(i), stretch(state_.stretches + i).begin());
  state_.stretches += added.state_.stretches;
  state_.open_rows = 0;
  for (std::size_t at = 0; at < state_.stays.size(); ++at) state_.stays[at] += added.state_.stays[at];
  std::ranges::fill(state_.now, ModeTraceState::Stay{});
  state_.rows += added.state_.rows;
}

std::vector<std::size_t> ModeTrace::last_of(std::size_t slot) const {
  std::vector<std::size_t> modes;
  const std::uint64_t held = std::min<std::uint64_t>(state_.rows, most_last);
  for (std::uint64_t row = state_.rows - held; row < state_.rows; ++row) {
    const std::uint64_t entry = state_.last[row % most_last];
    if (entry / 256 == slot) modes.push_back(entry % 256);
  }
  return modes;
}

}  // namespace mixstream
