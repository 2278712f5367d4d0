// What a stream remembers beside its rows, kept in its snapshots: fits, alarms, and how far alarms have been
// made. A crash loses what came since the last snapshot of the fits; alarms of the rows since are made again.
#include <algorithm>

#include "stream.hpp"

namespace mixstream {
namespace {

constexpr std::uint32_t history_part = first_guest_type + 1;
constexpr std::uint32_t alarms_part = first_guest_type + 2;
constexpr std::uint32_t watched_part = first_guest_type + 3;

Refusal damaged(const std::string& what) {
  return {Reason::bad_snapshot, "the snapshot is damaged: " + what};
}

}  // namespace

std::vector<Section> Stream::memory() const {
  ByteWriter watched;
  Bytes alarms;
  std::shared_ptr<const FitHistory> history;
  {
    const std::lock_guard lock(view_mutex_);
    for (const std::uint64_t count : {watched_.gaps, watched_.refused, watched_.drift}) watched.put(count);
    alarms = alarms_.encode(Clock::now());
    history = fits_.history;
  }
  return {{history_part, history->encode()},
          {alarms_part, std::move(alarms)},
          {watched_part, std::move(watched).take()}};
}

/// Before the journal is replayed. A snapshot without these parts has none to give: then what it counted is
/// taken as told.
Done Stream::restore_memory(std::span<const Section> sections) {
  watched_.gaps = fold_.state().sensors().opened_gaps();
  watched_.refused = fold_.counts().refused;
  if (const std::vector<DriftEvent> drift = fold_.estimator().drift(); !drift.empty())
    watched_.drift = drift.back().row;
  refused_since_ = Clock::now();
  for (const Section& section : sections) {
    if (section.type == history_part) {
      Outcome<FitHistory> history = FitHistory::decode(section.bytes);
      if (!history) return damaged(history.refusal().text);
      fits_.history = std::make_shared<FitHistory>(std::move(history).value());
    }
    if (section.type == alarms_part && !alarms_.restore(section.bytes, Clock::now()))
      return damaged("alarms");
    if (section.type != watched_part) continue;
    ByteReader in(section.bytes);
    for (std::uint64_t* count : {&watched_.gaps, &watched_.refused, &watched_.drift})
      *count = in.take<std::uint64_t>();
    if (!in.ok() || !in.at_end()) return damaged("what alarms were made of");
  }
  return std::monostate{};
}

}  // namespace mixstream
