#include "mixstream/modes/chains.hpp"

#include <doctest/doctest.h>

#include <map>

#include "mixstream/core/random.hpp"
#include "mixstream/modes/runs.hpp"

using namespace mixstream;

TEST_CASE("each sensor has a chain of its own") {
  ChainTable chains(ChainSettings{});
  CHECK(chains.next(5, 0.0).steps == 0);
  CHECK(chains.next(9, 0.0).steps == 0);
  CHECK(chains.next(5, 0.0).steps == 1);
  chains.skip(5);
  chains.skip(5);
  chains.skip(77);  // nobody's
  const ChainTable::Step five = chains.next(5, 0.0);
  CHECK(five.steps == 3);
  const ChainTable::Step nine = chains.next(9, 0.0);
  CHECK(nine.steps == 1);
  CHECK(nine.slot != five.slot);
  chains.cut();
  CHECK(chains.next(5, 0.0).steps == 0);
}

TEST_CASE("a silence or a clock that runs back begins a chain anew, and is counted") {
  ChainTable chains(ChainSettings{.most_chains = 4, .gap_seconds = 10.0});
  chains.next(1, 100.0);
  CHECK(chains.next(1, 110.0).steps == 1);
  CHECK(chains.next(1, 120.5).steps == 0);
  CHECK(chains.next(1, 119.0).steps == 0);
  CHECK(chains.next(1, 119.0).steps == 1);
  CHECK(chains.state().cut_by_gap == 1);
  CHECK(chains.state().ran_back == 1);
}

TEST_CASE("a cut between files is counted where its sensor speaks again, a restart is none") {
  ChainTable chains(ChainSettings{});
  for (const std::uint64_t sensor : {5U, 9U}) chains.next(sensor, 0.0);
  chains.cut();
  CHECK(chains.state().cut_between == 0);
  CHECK(chains.next(5, 0.0).steps == 0);
  CHECK(chains.next(5, 0.0).steps == 1);
  CHECK(chains.state().cut_between == 1);
  chains.restart();
  CHECK(chains.next(5, 0.0).steps == 0);
  CHECK(chains.state().cut_between == 1);
  CHECK(chains.next(9, 0.0).steps == 0);  // a restart takes no cut back
  CHECK(chains.state().cut_between == 2);
  CHECK(chains.state().all_cuts() == 2);
}

TEST_CASE("a merge adds what both counted, and cuts the sensors that both know") {
  const ChainSettings settings{.most_chains = 3, .gap_seconds = 10.0};
  ChainTable one(settings);
  ChainTable two(settings);
  for (const double time : {0.0, 1.0, 50.0}) one.next(1, time);
  one.next(2, 50.0);
  for (const std::uint64_t sensor : {2U, 3U, 4U}) two.next(sensor, 60.0);
  two.next(2, 59.0);
  one.add(two);
  CHECK(one.state().rows == 8);
  CHECK(one.state().cut_by_gap == 1);
  CHECK(one.state().ran_back == 1);
  CHECK(one.state().cut_between == 1);  // sensor 2, between the two
  CHECK(one.size() == 3);               // there is no room for sensor 4
  CHECK(one.next(1, 51.0).steps == 1);  // nobody else had rows of it
  CHECK(one.next(2, 61.0).steps == 0);
  CHECK(one.next(3, 61.0).steps == 0);
  CHECK(one.state().cut_between == 3);
}

TEST_CASE("sensors without bound: the silent ones give way, none takes another's chain") {
  ChainTable chains(ChainSettings{.most_chains = 8});
  Random random(3);
  std::map<std::uint64_t, std::uint64_t> last;  // when a sensor last spoke
  std::uint64_t evicted_while_known = 0;
  for (std::uint64_t t = 1; t <= 20000; ++t) {
    const std::uint64_t sensor = random.bits() % 12 * 0x9e3779b97f4a7c15ULL;
    std::size_t since = 0;  // sensors that spoke after this one did
    for (const auto& [other, when] : last) since += last.contains(sensor) && when > last[sensor] ? 1 : 0;
    const bool known = last.contains(sensor) && since < 8;
    const ChainTable::Step step = chains.next(sensor, 0.0);
    CHECK(step.slot < 8);
    CHECK((step.steps == 1) == known);
    evicted_while_known += step.steps == 0 && known ? 1 : 0;
    last[sensor] = t;
  }
  CHECK(evicted_while_known == 0);
  CHECK(chains.state().evicted > 1000);
  CHECK(chains.size() == 8);
  ChainTable restored(chains.state());
  for (int t = 0; t < 100; ++t) {
    const std::uint64_t sensor = random.bits() % 12 * 0x9e3779b97f4a7c15ULL;
    const auto one = chains.next(sensor, 0.0);
    const auto two = restored.next(sensor, 0.0);
    CHECK(one.slot == two.slot);
    CHECK(one.steps == two.steps);
  }
}

TEST_CASE("runs lie evenly over the stream, and rows of different runs are not spliced") {
  Runs runs(1, 1024);  // four runs of 256
  ChainTable chains(ChainSettings{});
  std::vector<double> x(1);
  for (std::uint64_t t = 0; t < 10000; ++t) {
    x[0] = static_cast<double>(t);
    runs.add({x, 2.0 * x[0]}, chains.next(0, 0.0));
  }
  CHECK(runs.size() <= 1024);
  CHECK(runs.size() > 512);
  std::vector<bool> seen(64);
  double before = -1.0;
  std::size_t begins = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunRow row = runs.row(i, seen);
    CHECK(row.row.response == 2.0 * row.row.features[0]);
    if (row.steps == 0)
      ++begins;
    else
      CHECK(row.row.features[0] == before + 1.0);
    before = row.row.features[0];
  }
  CHECK(begins == runs.state().held.size());
  CHECK(runs.state().held.front() == 0);
  Runs restored(runs.state());
  for (int t = 0; t < 3000; ++t) {
    x[0] = t;
    const auto step = chains.next(0, 0.0);
    runs.add({x, 0.0}, step);
    restored.add({x, 0.0}, step);
  }
  CHECK(runs.state() == restored.state());
}

namespace {

/// Rows 1000 s, 1000 s + 1, .. of a sensor, as held by runs of 256 in room for so many.
Runs runs_of(std::uint64_t sensor, std::size_t rows, std::size_t most_rows) {
  Runs runs(1, most_rows);
  ChainTable chains(ChainSettings{});
  std::vector<double> x(1);
  for (std::size_t t = 0; t < rows; ++t) {
    x[0] = static_cast<double>(1000000 * sensor + t);
    runs.add({x, 2.0 * x[0]}, chains.next(sensor, 0.0));
  }
  return runs;
}

}  // namespace

TEST_CASE("runs of two streams made one: both are held evenly, and no row follows another stream's") {
  for (const std::size_t first_rows : {100U, 700U, 3000U, 20000U}) {
    for (const std::size_t second_rows : {50U, 1000U, 9000U}) {
      CAPTURE(first_rows);
      CAPTURE(second_rows);
      Runs runs = runs_of(0, first_rows, 2048);
      const Runs second = runs_of(1, second_rows, 2048);
      const std::uint64_t apart = std::max(runs.state().apart, second.state().apart);
      runs.add(second);
      CHECK(Runs::is_sound(runs.state(), 64));
      CHECK(runs.state().held.size() <= 8);
      CHECK(runs.state().apart <= 2 * apart);
      std::vector<bool> seen(64);
      std::size_t of[2] = {0, 0};
      double before = -1.0;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const RunRow row = runs.row(i, seen);
        if (row.steps > 0) CHECK(row.row.features[0] == before + 1.0);
        before = row.row.features[0];
        ++of[before < 1000000.0 ? 0 : 1];
      }
      CHECK(of[0] + 256 > std::min<std::size_t>(first_rows, 256 * (first_rows / 256 / runs.state().apart)));
      CHECK(of[1] + 256 > std::min<std::size_t>(second_rows, 256 * (second_rows / 256 / runs.state().apart)));
      ChainTable chains(ChainSettings{});
      std::vector<double> x{3e6};
      for (int t = 0; t < 20000; ++t) runs.add({x, 0.0}, chains.next(7, 0.0));
      CHECK(Runs::is_sound(runs.state(), 64));
    }
  }
}
