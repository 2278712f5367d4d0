#include "store/clock_guard.hpp"

#include <doctest/doctest.h>

using namespace mixstream;

namespace {

constexpr double half_life = 600.0;
constexpr double now = 1.8e9;  // seconds since 1970
constexpr auto fine = ClockFate::fine;

/// Judged, and folded where that is allowed.
ClockFate take(ClockGuard& guard, const char* sensor, double time, double arrival) {
  const ClockFate verdict = guard.judge(sensor, time, arrival);
  if (verdict == fine) guard.folded(time);
  return verdict;
}

}  // namespace

TEST_CASE("a row ahead of its arrival is refused, whoever sends it; one that is late is not") {
  ClockGuard guard(half_life, {});
  CHECK(take(guard, "a", now, now) == fine);
  CHECK(take(guard, "a", now + 59.0, now) == fine);
  CHECK(take(guard, "a", now + 61.0, now) == ClockFate::clock_ahead);
  CHECK(take(guard, "a", now + 36000.0, now) == ClockFate::clock_ahead);
  CHECK(take(guard, "b", now * 1000.0, now) == ClockFate::clock_ahead);
  CHECK(take(guard, "b", now - 3600.0, now) == fine);
}

TEST_CASE("a sensor far from the others is refused until most of those that send agree with it") {
  ClockGuard guard(half_life, {});
  for (const char* sensor : {"a", "b", "c"}) CHECK(take(guard, sensor, now, now) == fine);
  CHECK(take(guard, "a", 17.0, now + 1.0) == ClockFate::clock_jump);
  CHECK(take(guard, "a", 18.0, now + 2.0) == ClockFate::clock_jump);
  CHECK(take(guard, "b", now + 2.0, now + 2.0) == fine);
  CHECK(guard.judge("b", 19.0, now + 3.0) == fine);  // two of three
  ClockGuard alone(half_life, {});
  CHECK(take(alone, "a", now, now) == fine);
  CHECK(take(alone, "a", 17.0, now) == fine);  // the moments want several such rows
  CHECK(alone.judge("a", 18.0, now) == fine);
}

TEST_CASE("who has not sent for a half-life has no vote") {
  ClockGuard guard(half_life, {});
  for (const char* sensor : {"a", "b"}) CHECK(take(guard, sensor, now, now) == fine);
  CHECK(guard.judge("a", 17.0, now + 10.0) == ClockFate::clock_jump);
  CHECK(guard.judge("a", 17.0, now + half_life + 10.0) == fine);
}

TEST_CASE("where silences are timed a row ahead is refused; one that is behind is not, however far") {
  ClockGuard guard(0.0, {}, 10.0);
  CHECK(take(guard, "a", now + 59.0, now) == fine);
  CHECK(take(guard, "b", now * 1000.0, now) == ClockFate::clock_ahead);
  CHECK(take(guard, "c", 17.0, now) == fine);
  CHECK(take(guard, "a", 17.0, now) == fine);
}

TEST_CASE("without a half-life in time every clock is fine; what is stored comes back") {
  ClockGuard off(0.0, {});
  CHECK(take(off, "a", now * 1e6, now) == fine);
  ClockGuard guard(half_life, {});
  take(guard, "a", now, now);
  take(guard, "b", 17.0, now);
  ClockGuard again(half_life, {});
  REQUIRE(again.restore(guard.encode()));
  CHECK(again == guard);
  const Bytes bytes = guard.encode();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(ClockGuard(half_life, {}).restore(std::span(bytes).first(size)));
}
