#include "mixstream/report/history.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

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

TEST_CASE("a history that was stored goes on as if it had not been") {
  FitHistory history(8);
  FitHistory copy(8);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    Report report = fit_after(10 * i);
    report.status = i % 2 == 0 ? FitStatus::ok : FitStatus::lost_component;
    report.components = {{0.25, 0.01, {1.0, -2.0}, {0.1, 0.2}, 0.5, 0.02},
                         {0.75, {}, {3.0, 4.0}, {}, 0.5, {}}};
    if (i % 3 == 0) report.moment_test = MomentTest{30.0, 20, 0.1, 1.0, ""};
    history.add(report);
    copy.add(report);
    Outcome<FitHistory> stored = FitHistory::decode(copy.encode(), 8);
    REQUIRE(stored);
    copy = std::move(stored).value();
    CHECK(copy.encode() == history.encode());
  }
  REQUIRE(copy.points().size() == history.points().size());
  const HistoryPoint& point = copy.points().back();
  CHECK(point.rows == history.points().back().rows);
  CHECK(point.components[0].coefficients == std::vector{1.0, -2.0});
  CHECK(point.components[0].noise_variance_error == 0.02);
  CHECK_FALSE(point.components[1].weight_error.has_value());
}

TEST_CASE("a damaged history is refused: every cut, too many points, numbers that are none") {
  FitHistory history(8);
  for (std::uint64_t i = 1; i <= 8; ++i) {
    Report report = fit_after(i);
    report.components = {{1.0, {}, {static_cast<double>(i)}, {}, 0.5, {}}};
    history.add(report);
  }
  const Bytes bytes = history.encode();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(FitHistory::decode(std::span(bytes).first(size), 8));
  CHECK_FALSE(FitHistory::decode(bytes, 7));
  for (std::size_t at = 0; at + 8 <= bytes.size(); ++at) {
    Bytes spoilt = bytes;
    std::fill_n(spoilt.begin() + static_cast<std::ptrdiff_t>(at), 8,
                std::byte{0xff});  // NaN, or far too many
    const Outcome<FitHistory> read = FitHistory::decode(spoilt, 8);
    if (!read) continue;
    for (const HistoryPoint& point : read.value().points())
      for (const ComponentReport& component : point.components) CHECK(std::isfinite(component.weight));
  }
}

TEST_CASE("a point of the history holds J over its degrees of freedom") {
  Report report = fit_after(7);
  CHECK_FALSE(history_point(report).j_per_dof.has_value());
  report.moment_test = MomentTest{30.0, 20, 0.1, 1.0, ""};
  CHECK(history_point(report).j_per_dof.value() == 1.5);
}
