#include "stream/solve_times.hpp"

#include <doctest/doctest.h>

using namespace mixstream;

TEST_CASE("solve times: the mean of the last 32, and quantiles of all") {
  SolveTimes times;
  CHECK(times.recent_mean() == 0.0);
  CHECK(times.p99() == 0.0);
  for (int i = 1; i <= 1000; ++i) times.add(0.001 * ((i * 617) % 1000 + 1));  // every millisecond to 1 s once
  CHECK(times.median() == doctest::Approx(0.5).epsilon(0.03));
  CHECK(times.p99() == doctest::Approx(0.99).epsilon(0.01));
  for (int i = 0; i < 32; ++i) times.add(2.0);
  CHECK(times.recent_mean() == doctest::Approx(2.0));
}
