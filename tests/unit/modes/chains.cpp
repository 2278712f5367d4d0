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
