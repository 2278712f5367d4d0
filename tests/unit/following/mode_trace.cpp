// What modes did over the stream, counted beside the library from the modes themselves.
#include "mixstream/following/mode_trace.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "support/allocation_count.hpp"

using namespace mixstream;

namespace {

std::vector<double> surely(std::size_t mode, std::size_t k) {
  std::vector<double> probabilities(k, 0.01 / static_cast<double>(k - 1));
  probabilities[mode] = 0.99;
  return probabilities;
}

/// Rows of one chain whose modes last 5, 40, 5, 40 .. rows: 0, 1, 0, 1.
std::size_t mode_at(std::size_t row) {
  return row % 45 < 5 ? 0 : 1;
}

ModeTrace traced(std::size_t first, std::size_t rows) {
  ModeTrace trace(2, 4);
  for (std::size_t t = first; t < first + rows; ++t)
    trace.add({0, t == first ? 0U : 1U}, surely(mode_at(t), 2));
  return trace;
}

double rows_of(const ModeTrace& trace, std::size_t mode) {
  double rows = 0.0;
  for (std::size_t i = 0; i < trace.state().stretches; ++i) rows += trace.state().shares[2 * i + mode];
  return rows;
}

}  // namespace

TEST_CASE("every row stands in one stretch, and stretches stay equal and bounded") {
  for (const std::size_t rows : {1U, 255U, 256U, 257U, 1000U, 100000U}) {
    CAPTURE(rows);
    const ModeTrace trace = traced(0, rows);
    CHECK(trace.state().stretches <= ModeTrace::most_stretches);
    CHECK(trace.state().stretches * trace.state().stretch_rows >= rows);
    CHECK(rows_of(trace, 0) + rows_of(trace, 1) == doctest::Approx(static_cast<double>(rows)));
    for (std::size_t i = 0; i + 1 < trace.state().stretches; ++i)
      CHECK(trace.state().shares[2 * i] + trace.state().shares[2 * i + 1] ==
            doctest::Approx(static_cast<double>(trace.state().stretch_rows)));
  }
}

TEST_CASE("stays are counted by their rows, without the first and the open one") {
  const ModeTrace trace = traced(0, 45 * 100);
  const auto stays = [&](std::size_t mode, std::size_t length) {
    return trace.state().stays[mode * ModeTrace::most_lengths + length];
  };
  CHECK(stays(0, 2) == 99);  // 5 rows: [4, 8); the first began before the stream did
  CHECK(stays(1, 5) == 99);  // 40 rows: [32, 64); the last one is open
  CHECK(std::accumulate(trace.state().stays.begin(), trace.state().stays.end(), 0ULL) == 198);
}

TEST_CASE("a chain that is cut ends no stay, and a filter that is not sure begins none") {
  ModeTrace trace(2, 4);
  const std::vector<double> unsure{0.6, 0.4};
  for (int t = 0; t < 100; ++t) trace.add({0, t % 10 == 0 ? 0U : 1U}, surely(t % 20 < 10 ? 0 : 1, 2));
  for (int t = 0; t < 100; ++t) trace.add({1, t == 0 ? 0U : 1U}, unsure);
  CHECK(std::accumulate(trace.state().stays.begin(), trace.state().stays.end(), 0ULL) == 0);
}

TEST_CASE("a gap of rows counts for the stay that it lies in") {
  ModeTrace trace(2, 1);
  trace.add({0, 0}, surely(0, 2));
  trace.add({0, 1}, surely(1, 2));
  trace.add({0, 14}, surely(1, 2));
  trace.add({0, 1}, surely(0, 2));
  CHECK(trace.state().stays[ModeTrace::most_lengths + 3] == 1);  // 15 rows: [8, 16)
}

TEST_CASE("the last rows are those of the chain that is asked for, oldest first") {
  ModeTrace trace(2, 4);
  for (std::size_t t = 0; t < 1000; ++t) trace.add({t % 2, 1}, surely(t % 2 == 0 ? mode_at(t) : 1, 2));
  const std::vector<std::size_t> last = trace.last_of(0);
  REQUIRE(last.size() == ModeTrace::most_last / 2);
  for (std::size_t i = 0; i < last.size(); ++i)
    CHECK(last[i] == mode_at(1000 - ModeTrace::most_last + 2 * i));
  CHECK(trace.last_of(3).empty());
}

TEST_CASE("two traces become one, whatever their stretches") {
  for (const std::size_t rows : {10U, 300U, 5000U}) {
    ModeTrace all = traced(0, 3000);
    const ModeTrace more = traced(3000, rows);
    const double before = rows_of(all, 0);
    all.append(more);
    CHECK(all.state().stretches <= ModeTrace::most_stretches);
    CHECK(rows_of(all, 0) == doctest::Approx(before + rows_of(more, 0)));
    CHECK(rows_of(all, 0) + rows_of(all, 1) == doctest::Approx(3000.0 + static_cast<double>(rows)));
    CHECK(ModeTrace::is_sound(all.state(), 2, 4));
  }
}

TEST_CASE("absorbing allocates nothing, also in a copy, and damaged states are told") {
  const ModeTrace first = traced(0, 1000);
  ModeTrace copy(first);
  const std::vector<double> probabilities = surely(0, 2);
  const std::size_t before = allocation_count();
  for (int t = 0; t < 1000; ++t) copy.add({0, 1}, probabilities);
  CHECK(allocation_count() == before);
  CHECK(ModeTrace::is_sound(first.state(), 2, 4));
  CHECK_FALSE(ModeTrace::is_sound(first.state(), 3, 4));
  ModeTraceState state = first.state();
  state.stretches = 257;
  CHECK_FALSE(ModeTrace::is_sound(state, 2, 4));
  state = first.state();
  state.last[7] = 2;  // a mode that is none
  CHECK_FALSE(ModeTrace::is_sound(state, 2, 4));
  state = first.state();
  state.shares[3] = std::nan("");
  CHECK_FALSE(ModeTrace::is_sound(state, 2, 4));
}
