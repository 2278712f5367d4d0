#include <doctest/doctest.h>

#include <vector>

#include "mixstream/rows/feature_map.hpp"
#include "support/allocation_count.hpp"

using namespace mixstream;

TEST_CASE("neither functions nor lags allocate when a row is evaluated") {
  const auto parsed = FeatureMap::parse(R"(1,t^3,log(u),sqrt(u)/t,max(0,t-18),m=="eco",lag(t,3),m{"a","b"})");
  REQUIRE(parsed);
  const FeatureMap& map = parsed.value();
  std::vector<double> inputs(map.input_count());
  std::vector<double> features(map.feature_count());
  LagMemory memory(map);
  const std::size_t before = allocation_count();
  int evaluated = 0;
  for (int row = 1; row <= 100; ++row) {
    inputs[0] = row;
    inputs[1] = row % 7 == 0 ? -1.0 : 2.0 * row;
    inputs[2] = map.code_of(2, row % 2 == 0 ? "eco" : "something else, longer than a short string");
    if (row % 10 == 0) memory.gap();
    memory.fill(inputs);
    evaluated += map.evaluate(inputs, features) < 0 ? 1 : 0;
  }
  CHECK(allocation_count() == before);
  CHECK(evaluated < 100);
}
