// What a person should know of a stream: the last alarms, and those that wait to be published.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "../view.hpp"
#include "mixstream/core/bytes.hpp"

namespace mixstream {

/// One thread at a time.
class Alarms {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kept = 64;
  static constexpr std::size_t most_waiting = 256;  ///< for a broker that is away; the oldest go first

  /// Something happened: a new alarm, which is over by itself after `hold`.
  void happened(const std::string& kind, std::uint64_t row, const std::string& words,
                std::chrono::seconds hold = std::chrono::minutes(10));
  /// Something goes on happening: one alarm as long as it does, with the words of the last time; over by
  /// itself after `hold`. True: it is new.
  bool goes_on(const std::string& kind, std::uint64_t row, const std::string& words,
               std::chrono::seconds hold = std::chrono::minutes(10));
  /// Something is so: a new alarm unless one of the kind is active; then only its words follow. True: it is
  /// new.
  bool holds(const std::string& kind, std::uint64_t row, const std::string& words);
  /// It is so no longer. False: it was not active.
  bool over(const std::string& kind);
  /// Ends what has been held long enough.
  void expire(Clock::time_point now);

  std::vector<Alarm> list() const;  ///< newest first
  /// Those that have not been handed out yet: new ones, and ones that ended.
  std::vector<Alarm> take_waiting();
  void put_back(std::vector<Alarm> events);  ///< they could not be published

  /// Everything as bytes, for a restart.
  Bytes encode(Clock::time_point now) const;
  /// What encode() made, going on from `now`: what had so many seconds to go still has. False: the bytes are
  /// damaged, and nothing changed.
  bool restore(std::span<const std::byte> bytes, Clock::time_point now);

 private:
  struct Entry {
    Alarm alarm;
    Clock::time_point until;  // max: until over()
  };
  Entry* active(const std::string& kind, bool by_time = false);
  void add(Entry entry);
  void make_room();
  void hand_out(const Alarm& alarm);

  std::deque<Entry> entries_;  // newest first
  std::deque<Alarm> waiting_;
};

/// One event as JSON on one line.
std::string to_json(const Alarm& alarm, const std::string& stream);

}  // namespace mixstream
