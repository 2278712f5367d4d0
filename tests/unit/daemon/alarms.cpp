#include "stream/alarms.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace mixstream;

TEST_CASE("what is so is one alarm until it is over") {
  Alarms alarms;
  CHECK(alarms.holds("disk", 7, "full"));
  CHECK_FALSE(alarms.holds("disk", 8, "still full"));
  REQUIRE(alarms.list().size() == 1);
  CHECK(alarms.list()[0].words == "still full");
  CHECK(alarms.list()[0].row == 7);
  CHECK(alarms.over("disk"));
  CHECK_FALSE(alarms.over("disk"));
  CHECK_FALSE(alarms.list()[0].active);
  const std::vector<Alarm> events = alarms.take_waiting();
  REQUIRE(events.size() == 2);  // that it began, and that it is over
  CHECK(events[0].active);
  CHECK_FALSE(events[1].active);
  CHECK(alarms.take_waiting().empty());
}

TEST_CASE("what happened is over after a while") {
  Alarms alarms;
  alarms.happened("gap", 1, "x", std::chrono::seconds(5));
  alarms.expire(Alarms::Clock::now() + std::chrono::seconds(4));
  CHECK(alarms.list()[0].active);
  alarms.expire(Alarms::Clock::now() + std::chrono::seconds(6));
  CHECK_FALSE(alarms.list()[0].active);
  alarms.expire(Alarms::Clock::now() + std::chrono::seconds(7));
  const std::vector<Alarm> events = alarms.take_waiting();
  REQUIRE(events.size() == 2);  // that it began, and once that it ended
  CHECK(events[0].active);
  CHECK_FALSE(events[1].active);
}

TEST_CASE("an alarm that still holds does not make room for newer ones that are over") {
  Alarms alarms;
  alarms.holds("disk", 1, "full");
  for (int i = 0; i < 100; ++i) {
    alarms.happened("gap", static_cast<std::uint64_t>(i), "x", std::chrono::seconds(0));
    alarms.expire(Alarms::Clock::now() + std::chrono::seconds(1));
  }
  CHECK(alarms.list().size() == Alarms::kept);
  CHECK_FALSE(alarms.holds("disk", 2, "full"));
  CHECK(alarms.over("disk"));
}

TEST_CASE("alarms are bounded, newest first, and events that were not published come again") {
  Alarms alarms;
  for (int i = 0; i < 1000; ++i) alarms.happened("gap", static_cast<std::uint64_t>(i), "x");
  CHECK(alarms.list().size() == Alarms::kept);
  CHECK(alarms.list()[0].row == 999);
  std::vector<Alarm> events = alarms.take_waiting();
  CHECK(events.size() == Alarms::most_waiting);
  alarms.put_back(events);
  CHECK(alarms.take_waiting() == events);
}

TEST_CASE("alarms that were stored are as before, with the time they had left") {
  const Alarms::Clock::time_point now = Alarms::Clock::now();
  Alarms alarms;
  alarms.happened("gap", 1, "one is missing", std::chrono::seconds(60));
  alarms.holds("poor_fit", 2, "do not trust");
  alarms.holds("disk", 3, "full");
  alarms.over("disk");
  Alarms restored;
  REQUIRE(restored.restore(alarms.encode(now), now + std::chrono::hours(5)));
  const auto rounded = [](std::vector<Alarm> list) {  // stored to the microsecond
    for (Alarm& alarm : list) alarm.time = std::chrono::floor<std::chrono::microseconds>(alarm.time);
    return list;
  };
  CHECK(restored.list() == rounded(alarms.list()));
  CHECK(restored.take_waiting() == rounded(alarms.take_waiting()));
  CHECK_FALSE(restored.holds("poor_fit", 9, "still"));  // it is the same alarm
  restored.expire(now + std::chrono::hours(5) + std::chrono::seconds(50));
  CHECK(restored.list().back().active);
  restored.expire(now + std::chrono::hours(5) + std::chrono::seconds(70));
  CHECK_FALSE(restored.list().back().active);
  CHECK(restored.over("poor_fit"));
}

TEST_CASE("damaged alarms are not taken, and change nothing") {
  const Alarms::Clock::time_point now = Alarms::Clock::now();
  Alarms alarms;
  alarms.happened("gap", 1, "one is missing");
  const Bytes bytes = alarms.encode(now);
  Alarms other;
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(other.restore(std::span(bytes).first(size), now));
  Bytes many = bytes;
  many[0] = std::byte{Alarms::kept + 1};
  CHECK_FALSE(other.restore(many, now));
  CHECK(other.list().empty());
}

TEST_CASE("an event's words cannot break its JSON") {
  const std::string json = to_json({{}, 3, "disk", "a \"quoted\"\nline \xff", true}, "pump");
  CHECK(json.find("\\\"quoted\\\"\\n") != std::string::npos);
  CHECK(json.find("\"stream\":\"pump\"") != std::string::npos);
  CHECK(json.find('\n') == std::string::npos);
}

TEST_CASE("a storm of one kind drives no other alarm out, and what goes on is one alarm") {
  Alarms alarms;
  alarms.happened("drift", 1, "changed");
  alarms.holds("disk", 2, "full");
  for (int i = 0; i < 1000; ++i) alarms.happened("gap", static_cast<std::uint64_t>(i), "x");
  const std::vector<Alarm> list = alarms.list();
  CHECK(list.size() == Alarms::kept);
  CHECK(std::ranges::count(list, std::string("drift"), &Alarm::kind) == 1);
  CHECK(std::ranges::count(list, std::string("disk"), &Alarm::kind) == 1);
  Alarms calm;
  CHECK(calm.goes_on("gap", 1, "first"));
  CHECK_FALSE(calm.goes_on("gap", 2, "second"));
  REQUIRE(calm.list().size() == 1);
  CHECK(calm.list()[0].words == "second");
  CHECK(calm.take_waiting().size() == 1);
}
