#include "mixstream/modes/chains.hpp"

#include <algorithm>
#include <bit>

#include "mixstream/core/random.hpp"

namespace mixstream {

ChainTable::ChainTable(const ChainSettings& settings) : ChainTable(ChainState{settings, {}}) {}

ChainTable::ChainTable(const ChainState& state)
    : state_(state), index_(std::bit_ceil(4 * std::max<std::size_t>(state.settings.most_chains, 1))) {
  state_.settings.most_chains = std::max<std::size_t>(state_.settings.most_chains, 1);
  state_.entries.reserve(state_.settings.most_chains);
  std::uint64_t latest = 0;
  for (std::size_t slot = 0; slot < state_.entries.size(); ++slot) {
    index_[find(state_.entries[slot].sensor)] = static_cast<std::uint32_t>(slot + 1);
    if (state_.entries[slot].spoke >= latest) {
      latest = state_.entries[slot].spoke;
      newest_ = slot;
    }
  }
}

std::size_t ChainTable::find(std::uint64_t sensor) const noexcept {
  const std::size_t mask = index_.size() - 1;
  std::size_t place = mixed_bits(sensor) & mask;
  while (index_[place] != 0 && state_.entries[index_[place] - 1].sensor != sensor) place = (place + 1) & mask;
  return place;
}

/// Takes a sensor out of the index; those that stood behind it close up.
void ChainTable::forget(std::uint64_t sensor) noexcept {
  const std::size_t mask = index_.size() - 1;
  std::size_t hole = find(sensor);
  index_[hole] = 0;
  for (std::size_t place = (hole + 1) & mask; index_[place] != 0; place = (place + 1) & mask) {
    const std::size_t home = mixed_bits(state_.entries[index_[place] - 1].sensor) & mask;
    if (((place - home) & mask) < ((place - hole) & mask)) continue;
    index_[hole] = index_[place];
    index_[place] = 0;
    hole = place;
  }
}

std::size_t ChainTable::make_room() noexcept {
  if (state_.entries.size() < state_.settings.most_chains) {
    state_.entries.emplace_back();  // within what is reserved
    return state_.entries.size() - 1;
  }
  const auto silent = std::ranges::min_element(state_.entries, {}, &ChainState::Entry::spoke);
  forget(silent->sensor);
  ++state_.evicted;
  return static_cast<std::size_t>(silent - state_.entries.begin());
}

std::size_t ChainTable::slot_for(std::uint64_t sensor) noexcept {
  const std::uint32_t known = index_[find(sensor)];
  if (known != 0) return known - 1;
  const std::size_t slot = make_room();
  index_[find(sensor)] =
      static_cast<std::uint32_t>(slot + 1);  // after make_room, which may close up the index
  state_.entries[slot] = {sensor, 0.0, 0, 0, ChainNext::begins};
  return slot;
}

ChainTable::Step ChainTable::next(std::uint64_t sensor, double time) noexcept {
  const bool same = newest_ < state_.entries.size() && state_.entries[newest_].sensor == sensor;
  if (!same) newest_ = slot_for(sensor);
  ChainState::Entry& entry = state_.entries[newest_];
  if (state_.settings.gap_seconds > 0.0 && entry.next == ChainNext::follows) {
    const bool back = time < entry.time;
    const bool silent = time > entry.time + state_.settings.gap_seconds;
    state_.ran_back += back ? 1 : 0;
    state_.cut_by_gap += silent ? 1 : 0;
    if (back || silent) entry.next = ChainNext::begins;
  }
  state_.cut_between += entry.next == ChainNext::begins_after_cut ? 1 : 0;
  const Step step{newest_, entry.next == ChainNext::follows ? entry.missing + 1 : 0};
  entry = {sensor, time, ++state_.rows, 0, ChainNext::follows};
  return step;
}

void ChainTable::skip(std::uint64_t sensor) noexcept {
  const std::uint32_t known = index_[find(sensor)];
  if (known == 0) return;
  std::uint32_t& missing = state_.entries[known - 1].missing;
  missing = std::min(missing + 1, 1U << 30);
}

std::optional<std::size_t> ChainTable::slot_of(std::uint64_t sensor) const noexcept {
  const std::uint32_t known = index_[find(sensor)];
  if (known == 0 || state_.entries[known - 1].next != ChainNext::follows) return {};
  return known - 1;
}

void ChainTable::cut() noexcept {
  for (ChainState::Entry& entry : state_.entries) entry.next = ChainNext::begins_after_cut;
}

void ChainTable::restart() noexcept {
  for (ChainState::Entry& entry : state_.entries) {
    if (entry.next == ChainNext::follows) entry.next = ChainNext::begins;
  }
}

void ChainTable::add(const ChainTable& other) noexcept {
  state_.rows += other.state_.rows;
  state_.cut_by_gap += other.state_.cut_by_gap;
  state_.ran_back += other.state_.ran_back;
  state_.evicted += other.state_.evicted;
  state_.cut_between += other.state_.cut_between;
  for (ChainState::Entry& entry : state_.entries) entry.spoke += other.state_.rows;
  for (const ChainState::Entry& entry : other.state_.entries) {
    const std::size_t place = find(entry.sensor);
    if (index_[place] != 0) {
      ++state_.cut_between;
      state_.entries[index_[place] - 1].next = ChainNext::begins_after_cut;
    } else if (state_.entries.size() < state_.settings.most_chains) {
      state_.entries.push_back(entry);  // within what is reserved
      state_.entries.back().next = ChainNext::begins_after_cut;
      index_[place] = static_cast<std::uint32_t>(state_.entries.size());
    }
  }
}

}  // namespace mixstream
