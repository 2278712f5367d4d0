#include "mixstream/report/history.hpp"

#include <doctest/doctest.h>

using namespace mixstream;

namespace {

Report fit_after(std::uint64_t rows) {
  Report report;
  report.rows = rows;
  return report;
}

}  // namespace

TEST_CASE("a full history stays bounded and evenly spread") {
  for (const std::size_t capacity : {8UL, 9UL}) {
    FitHistory history(capacity);
    for (std::uint64_t i = 1; i <= 1000; ++i) history.add(fit_after(10 * i));
    const auto points = history.points();
    CHECK(points.size() <= capacity);
    CHECK(points.size() >= capacity / 2);
    const std::uint64_t gap = points[1].rows - points[0].rows;
    for (std::size_t i = 1; i < points.size(); ++i) CHECK(points[i].rows - points[i - 1].rows == gap);
    CHECK(points.back().rows > 10000 - gap);
  }
}

TEST_CASE("a history that is not full keeps every fit, but none twice") {
  FitHistory history(8);
  for (const std::uint64_t rows : {1ULL, 2ULL, 2ULL, 5ULL}) history.add(fit_after(rows));
  REQUIRE(history.points().size() == 3);
  CHECK(history.points()[2].rows == 5);
}

TEST_CASE("a point of the history holds J over its degrees of freedom") {
  Report report = fit_after(7);
  CHECK_FALSE(history_point(report).j_per_dof.has_value());
  report.moment_test = MomentTest{30.0, 20, 0.1, 1.0, ""};
  CHECK(history_point(report).j_per_dof.value() == 1.5);
}
