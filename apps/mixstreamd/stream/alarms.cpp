#include "alarms.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace mixstream {
namespace {

constexpr std::uint32_t until_over = 0xffffffff;  // seconds to go: it is no matter of time

void put(ByteWriter& out, const Alarm& alarm) {
  using Microseconds = std::chrono::microseconds;
  const auto time = std::chrono::duration_cast<Microseconds>(alarm.time.time_since_epoch()).count();
  out.put(static_cast<std::uint64_t>(time));
  out.put(alarm.row);
  out.put(static_cast<std::uint32_t>(alarm.active));
  out.put_text(alarm.kind);
  out.put_text(alarm.words);
}

Alarm take_alarm(ByteReader& in) {
  Alarm alarm;
  const auto time = std::chrono::microseconds(static_cast<std::int64_t>(in.take<std::uint64_t>()));
  alarm.time = WallTime(std::chrono::duration_cast<WallTime::duration>(time));
  alarm.row = in.take<std::uint64_t>();
  alarm.active = in.take<std::uint32_t>() != 0;
  alarm.kind = in.take_text();
  alarm.words = in.take_text();
  return alarm;
}

}  // namespace

void Alarms::hand_out(const Alarm& alarm) {
  waiting_.push_back(alarm);
  if (waiting_.size() > most_waiting) waiting_.pop_front();
}

void Alarms::add(Entry entry) {
  hand_out(entry.alarm);
  entries_.push_front(std::move(entry));
  while (entries_.size() > kept) make_room();
}

/// What is over goes first, then the oldest of the kind that there are most of: a storm of one kind leaves
/// the others alone. What holds until it is over goes last.
void Alarms::make_room() {
  const auto over =
      std::find_if(entries_.rbegin(), entries_.rend(), [](const Entry& old) { return !old.alarm.active; });
  if (over != entries_.rend()) {
    entries_.erase(std::prev(over.base()));
    return;
  }
  std::map<std::string, std::size_t> counts;
  for (const Entry& entry : entries_)
    counts[entry.alarm.kind] += entry.until != Clock::time_point::max() ? 1 : 0;
  const auto most = std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
  const auto oldest = std::find_if(entries_.rbegin(), entries_.rend(), [&](const Entry& entry) {
    return entry.alarm.kind == most->first && entry.until != Clock::time_point::max();
  });
  entries_.erase(oldest == entries_.rend() ? std::prev(entries_.end()) : std::prev(oldest.base()));
}

void Alarms::happened(const std::string& kind, std::uint64_t row, const std::string& words,
                      std::chrono::seconds hold) {
  add({{std::chrono::system_clock::now(), row, kind, words, true}, Clock::now() + hold});
}

Alarms::Entry* Alarms::active(const std::string& kind, bool by_time) {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.alarm.active && entry.alarm.kind == kind &&
           (entry.until != Clock::time_point::max()) == by_time;
  });
  return found == entries_.end() ? nullptr : &*found;
}

bool Alarms::goes_on(const std::string& kind, std::uint64_t row, const std::string& words,
                     std::chrono::seconds hold) {
  if (Entry* entry = active(kind, true)) {
    entry->alarm.words = words;
    entry->until = Clock::now() + hold;
    return false;
  }
  happened(kind, row, words, hold);
  return true;
}

bool Alarms::holds(const std::string& kind, std::uint64_t row, const std::string& words) {
  if (Entry* entry = active(kind)) {
    entry->alarm.words = words;
    return false;
  }
  add({{std::chrono::system_clock::now(), row, kind, words, true}, Clock::time_point::max()});
  return true;
}

bool Alarms::over(const std::string& kind) {
  Entry* entry = active(kind);
  if (entry == nullptr) return false;
  entry->alarm.active = false;
  hand_out(entry->alarm);
  return true;
}

void Alarms::expire(Clock::time_point now) {
  for (Entry& entry : entries_) {
    if (!entry.alarm.active || entry.until > now) continue;
    entry.alarm.active = false;
    hand_out(entry.alarm);
  }
}

std::vector<Alarm> Alarms::list() const {
  std::vector<Alarm> alarms;
  for (const Entry& entry : entries_) alarms.push_back(entry.alarm);
  return alarms;
}

std::vector<Alarm> Alarms::take_waiting() {
  std::vector<Alarm> events(waiting_.begin(), waiting_.end());
  waiting_.clear();
  return events;
}

void Alarms::put_back(std::vector<Alarm> events) {
  waiting_.insert(waiting_.begin(), events.begin(), events.end());
  while (waiting_.size() > most_waiting) waiting_.pop_front();
}

Bytes Alarms::encode(Clock::time_point now) const {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(entries_.size()));
  for (const Entry& entry : entries_) {
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(entry.until - now).count();
    const bool by_time = entry.until != Clock::time_point::max();
    out.put(by_time ? static_cast<std::uint32_t>(std::max<std::int64_t>(left, 0)) : until_over);
    put(out, entry.alarm);
  }
  out.put(static_cast<std::uint32_t>(waiting_.size()));
  for (const Alarm& alarm : waiting_) put(out, alarm);
  return std::move(out).take();
}

bool Alarms::restore(std::span<const std::byte> bytes, Clock::time_point now) {
  ByteReader in(bytes);
  Alarms restored;
  const auto entries = in.take<std::uint32_t>();
  for (std::uint32_t i = 0; in.ok() && i < entries; ++i) {
    const auto left = in.take<std::uint32_t>();
    const auto until = left == until_over ? Clock::time_point::max() : now + std::chrono::seconds(left);
    restored.entries_.push_back({take_alarm(in), until});
  }
  const auto waiting = in.take<std::uint32_t>();
  for (std::uint32_t i = 0; in.ok() && i < waiting; ++i) restored.waiting_.push_back(take_alarm(in));
  if (!in.ok() || !in.at_end() || entries > kept || waiting > most_waiting) return false;
  *this = std::move(restored);
  return true;
}

std::string to_json(const Alarm& alarm, const std::string& stream) {
  nlohmann::ordered_json event;
  event["schema"] = 1;
  event["stream"] = stream;
  event["time"] = fmt::format("{:%FT%TZ}", fmt::gmtime(alarm.time));
  event["row"] = alarm.row;
  event["kind"] = alarm.kind;
  event["active"] = alarm.active;
  event["words"] = alarm.words;
  return event.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace mixstream
