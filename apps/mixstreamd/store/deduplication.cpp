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

const char* name_of(SequenceVerdict verdict) noexcept {
  switch (verdict) {
    case SequenceVerdict::fresh:
      return "fresh";
    case SequenceVerdict::duplicate:
      return "duplicate";
    case SequenceVerdict::too_old:
      return "too_old";
    case SequenceVerdict::old_epoch:
      return "old_epoch";
    case SequenceVerdict::too_many_sensors:
      return "too_many_sensors";
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

SequenceVerdict SequenceWindow::take(std::uint64_t sequence) noexcept {
  if (sequence > highest_) {
    if (sequence - highest_ >= width)
      bits_.fill(0);
    else
      for (std::uint64_t between = highest_ + 1; between < sequence; ++between) set(between, false);
    highest_ = sequence;
  } else {
    if (highest_ - sequence >= width) return SequenceVerdict::too_old;
    if (bit(sequence)) return SequenceVerdict::duplicate;
    lowest_ = std::min(lowest_, sequence);
  }
  set(sequence, true);
  ++seen_;
  return SequenceVerdict::fresh;
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

Deduplication::Deduplication(const Deduplication& other)
    : most_sensors_(other.most_sensors_), sensors_(other.sensors_), gaps_(other.gaps_) {}

Deduplication& Deduplication::operator=(const Deduplication& other) {
  most_sensors_ = other.most_sensors_;
  sensors_ = other.sensors_;
  last_ = sensors_.end();
  gaps_ = other.gaps_;
  return *this;
}

SequenceVerdict Deduplication::take(std::string_view sensor, std::uint64_t epoch, std::uint64_t sequence) {
  if (last_ == sensors_.end() || last_->first != sensor) last_ = sensors_.find(sensor);
  if (last_ == sensors_.end()) return take_new(sensor, epoch, sequence);
  return take_known(last_->second, epoch, sequence);
}

SequenceVerdict Deduplication::take_new(std::string_view sensor, std::uint64_t epoch,
                                        std::uint64_t sequence) {
  if (sensors_.size() >= most_sensors_) return SequenceVerdict::too_many_sensors;
  last_ = sensors_.emplace(sensor, Sensor{SequenceWindow(epoch, sequence)}).first;
  return SequenceVerdict::fresh;
}

SequenceVerdict Deduplication::take_known(Sensor& sensor, std::uint64_t epoch, std::uint64_t sequence) {
  if (epoch > sensor.current.epoch()) {
    sensor.previous = sensor.current;  // its gaps, and those of the one it replaces, stay counted
    sensor.current = SequenceWindow(epoch, sequence);
    return SequenceVerdict::fresh;
  }
  SequenceWindow* const window = epoch == sensor.current.epoch()                        ? &sensor.current
                                 : sensor.previous && epoch == sensor.previous->epoch() ? &*sensor.previous
                                                                                        : nullptr;
  if (window == nullptr) return SequenceVerdict::old_epoch;
  const std::uint64_t before = window->gaps();
  const SequenceVerdict verdict = window->take(sequence);
  gaps_ += window->gaps() - before;  // modulo 2^64: falls when a gap is filled
  return verdict;
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

Outcome<Deduplication> Deduplication::decode(std::span<const std::byte> bytes, std::size_t most_sensors) {
  ByteReader in(bytes);
  Deduplication table(most_sensors);
  table.gaps_ = in.take<std::uint64_t>();
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
