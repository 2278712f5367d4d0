#include "alarms.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace mixstream {

void Alarms::hand_out(const Alarm& alarm) {
  waiting_.push_back(alarm);
  if (waiting_.size() > most_waiting) waiting_.pop_front();
}

void Alarms::add(Entry entry) {
  hand_out(entry.alarm);
  entries_.push_front(std::move(entry));
  if (entries_.size() > kept) entries_.pop_back();
}

void Alarms::happened(const std::string& kind, std::uint64_t row, const std::string& words,
                      std::chrono::seconds hold) {
  add({{std::chrono::system_clock::now(), row, kind, words, true}, Clock::now() + hold});
}

Alarms::Entry* Alarms::active(const std::string& kind) {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.alarm.active && entry.alarm.kind == kind && entry.until == Clock::time_point::max();
  });
  return found == entries_.end() ? nullptr : &*found;
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
    if (entry.until <= now) entry.alarm.active = false;
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
