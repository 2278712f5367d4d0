#include "store/deduplication.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace mixstream {
namespace {

Refusal damaged() {
  return {Reason::bad_snapshot, "the snapshot is damaged: its table of sequence numbers is not sound"};
}

}  // namespace

const char* name_of(SequenceFate fate) noexcept {
  switch (fate) {
    case SequenceFate::fresh:
      return "fresh";
    case SequenceFate::duplicate:
      return "duplicate";
    case SequenceFate::too_old:
      return "too_old";
    case SequenceFate::old_epoch:
      return "old_epoch";
    case SequenceFate::too_many_sensors:
      return "too_many_sensors";
    case SequenceFate::sequence_jump:
      return "sequence_jump";
  }
  return "unknown";
}

SequenceWindow::SequenceWindow(std::uint64_t epoch, std::uint64_t first) noexcept
    : epoch_(epoch), lowest_(first), highest_(first), seen_(1) {
  set(first, true);
}

bool SequenceWindow::bit(std::uint64_t sequence) const noexcept {
  return ((bits_[sequence % width / 64] >> (sequence % 64)) & 1) != 0;
}

void SequenceWindow::set(std::uint64_t sequence, bool value) noexcept {
  std::uint64_t& word = bits_[sequence % width / 64];
  const std::uint64_t mask = std::uint64_t{1} << (sequence % 64);
  word = value ? word | mask : word & ~mask;
}

SequenceFate SequenceWindow::take(std::uint64_t sequence) noexcept {
  if (sequence > highest_) {
    if (sequence - highest_ >= width)
      bits_.fill(0);
    else
      for (std::uint64_t between = highest_ + 1; between < sequence; ++between) set(between, false);
    highest_ = sequence;
  } else {
    if (highest_ - sequence >= width) return SequenceFate::too_old;
    if (bit(sequence)) return SequenceFate::duplicate;
    lowest_ = std::min(lowest_, sequence);
  }
  set(sequence, true);
  ++seen_;
  return SequenceFate::fresh;
}

void SequenceWindow::encode(ByteWriter& out) const {
  for (const std::uint64_t number : {epoch_, lowest_, highest_, seen_}) out.put(number);
  for (const std::uint64_t word : bits_) out.put(word);
}

std::optional<SequenceWindow> SequenceWindow::decode(ByteReader& in) {
  SequenceWindow window;
  for (std::uint64_t* number : {&window.epoch_, &window.lowest_, &window.highest_, &window.seen_})
    *number = in.take<std::uint64_t>();
  for (std::uint64_t& word : window.bits_) word = in.take<std::uint64_t>();
  if (!in.ok() || !window.is_sound()) return std::nullopt;
  return window;
}

/// Bits and counts must tell the same story.
bool SequenceWindow::is_sound() const noexcept {
  if (epoch_ > largest_sequence || highest_ > largest_sequence || lowest_ > highest_ || seen_ == 0 ||
      seen_ - 1 > highest_ - lowest_ || !bit(highest_) || (highest_ - lowest_ < width && !bit(lowest_)))
    return false;
  const std::uint64_t reach = std::min(highest_ - lowest_, width - 1);
  std::uint64_t inside = 0;
  for (std::uint64_t back = 0; back <= reach; ++back) inside += bit(highest_ - back) ? 1 : 0;
  const auto all = std::transform_reduce(bits_.begin(), bits_.end(), std::uint64_t{0}, std::plus<>{},
                                         [](std::uint64_t word) { return std::popcount(word); });
  const bool window_holds_all = highest_ - lowest_ < width;
  return inside == all && (window_holds_all ? seen_ == inside : seen_ > inside);
}

Deduplication::Deduplication(const Deduplication& other) {
  *this = other;
}

Deduplication& Deduplication::operator=(const Deduplication& other) {
  if (this == &other) return *this;
  settings_ = other.settings_;
  sensors_ = other.sensors_;
  last_ = sensors_.end();
  gaps_ = other.gaps_;
  opened_gaps_ = other.opened_gaps_;
  nobody_before_ = other.nobody_before_;
  return *this;
}

SequenceFate Deduplication::take(std::string_view sensor, std::uint64_t epoch, std::uint64_t sequence,
                                 double arrival) {
  if (last_ == sensors_.end() || last_->first != sensor) last_ = sensors_.find(sensor);
  if (last_ == sensors_.end()) return take_new(sensor, epoch, sequence, arrival);
  last_->second.seen = arrival;
  if (!believes(last_->second, epoch, sequence)) return SequenceFate::sequence_jump;
  return take_known(last_->second, epoch, sequence);
}

SequenceFate Deduplication::take_new(std::string_view sensor, std::uint64_t epoch, std::uint64_t sequence,
                                     double arrival) {
  if (sequence > largest_first || epoch > largest_first) return SequenceFate::sequence_jump;
  if (sensors_.size() >= settings_.most_sensors && !make_room(arrival)) return SequenceFate::too_many_sensors;
  last_ = sensors_.emplace(sensor, Sensor{.current = SequenceWindow(epoch, sequence), .seen = arrival}).first;
  return SequenceFate::fresh;
}

/// By the arrivals of rows alone, so that a journal that is read again does the same.
bool Deduplication::make_room(double arrival) {
  if (arrival < nobody_before_ || sensors_.empty()) return false;
  const auto oldest = std::ranges::min_element(
      sensors_, {}, [](const Sensors::value_type& entry) { return entry.second.seen; });
  nobody_before_ = oldest->second.seen + settings_.sensor_expiry;
  if (arrival < nobody_before_) return false;
  sensors_.erase(oldest);
  last_ = sensors_.end();
  return true;
}

bool Deduplication::believes(Sensor& sensor, std::uint64_t epoch, std::uint64_t sequence) const {
  const SequenceWindow& window = sensor.current;
  const bool same = epoch == window.epoch();
  const bool jumps =
      (same && sequence > window.highest() && sequence - window.highest() > settings_.largest_jump) ||
      (epoch > window.epoch() && (sequence > largest_first || epoch - window.epoch() > largest_epoch_jump));
  if (!jumps) {
    sensor.suspicions = 0;
    return true;
  }
  sensor.suspicions = sensor.suspicions > 0 && sequence > sensor.suspect ? sensor.suspicions + 1 : 1;
  sensor.suspect = sequence;
  if (sensor.suspicions < enough_rows) return false;
  sensor.suspicions = 0;
  return true;
}

SequenceFate Deduplication::take_known(Sensor& sensor, std::uint64_t epoch, std::uint64_t sequence) {
  if (epoch > sensor.current.epoch()) {
    sensor.previous = sensor.current;  // its gaps, and those of the one it replaces, stay counted
    sensor.current = SequenceWindow(epoch, sequence);
    return SequenceFate::fresh;
  }
  SequenceWindow* const window = epoch == sensor.current.epoch()                        ? &sensor.current
                                 : sensor.previous && epoch == sensor.previous->epoch() ? &*sensor.previous
                                                                                        : nullptr;
  if (window == nullptr) return SequenceFate::old_epoch;
  const std::uint64_t before = window->gaps();
  const SequenceFate fate = window->take(sequence);
  if (window->gaps() > before) opened_gaps_ += window->gaps() - before;
  gaps_ += window->gaps() - before;  // modulo 2^64: falls when a gap is filled
  return fate;
}

bool Deduplication::forget(std::string_view sensor) {
  const auto found = sensors_.find(sensor);
  if (found == sensors_.end()) return false;
  sensors_.erase(found);
  last_ = sensors_.end();
  return true;
}

Bytes Deduplication::encode_notes() const {
  ByteWriter out;
  out.put(opened_gaps_);
  for (const auto& [name, sensor] : sensors_) {
    out.put(sensor.seen);
    out.put(sensor.suspicions);
    out.put(sensor.suspect);
  }
  return std::move(out).take();
}

bool Deduplication::read_notes(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  opened_gaps_ = in.take<std::uint64_t>();
  for (auto& [name, sensor] : sensors_) {
    sensor.seen = in.take_double();
    sensor.suspicions = in.take<std::uint32_t>();
    sensor.suspect = in.take<std::uint64_t>();
    if (!(sensor.seen >= 0.0) || sensor.suspicions >= enough_rows) return false;
  }
  return in.ok() && in.at_end() && opened_gaps_ >= gaps_;
}

Bytes Deduplication::encode() const {
  ByteWriter out;
  out.put(gaps_);
  out.put(static_cast<std::uint64_t>(sensors_.size()));
  for (const auto& [name, sensor] : sensors_) {
    out.put_text(name);
    out.put(static_cast<std::uint32_t>(sensor.previous.has_value()));
    sensor.current.encode(out);
    if (sensor.previous) sensor.previous->encode(out);
  }
  return std::move(out).take();
}

Outcome<Deduplication> Deduplication::decode(std::span<const std::byte> bytes,
                                             const IdentitySettings& settings) {
  ByteReader in(bytes);
  Deduplication table(settings);
  table.gaps_ = in.take<std::uint64_t>();
  table.opened_gaps_ = table.gaps_;  // of states that did not count them
  const auto count = in.take<std::uint64_t>();
  for (std::uint64_t i = 0; in.ok() && i < count; ++i) {
    const std::string name = in.take_text();
    const auto has_previous = in.take<std::uint32_t>();
    const std::optional<SequenceWindow> current = SequenceWindow::decode(in);
    if (!current || has_previous > 1) return damaged();
    Sensor sensor{*current};
    if (has_previous == 1) {
      sensor.previous = SequenceWindow::decode(in);
      if (!sensor.previous || sensor.previous->epoch() >= current->epoch()) return damaged();
    }
    const bool sorted = table.sensors_.empty() || std::prev(table.sensors_.end())->first < name;
    if (!sorted) return damaged();
    table.sensors_.emplace_hint(table.sensors_.end(), name, std::move(sensor));
  }
  if (!in.ok() || !in.at_end()) return damaged();
  return table;
}

}  // namespace mixstream
