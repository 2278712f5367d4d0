#include "mixstream/modes/gated_start.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "mixstream/core/random.hpp"

using namespace mixstream;

namespace {

/// y falls below u = 0 and rises above; v says nothing.
RowTable heating_and_cooling(std::size_t rows) {
  Random random(3);
  RowTable table{3, {}, {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    const double x[3] = {1.0, random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0)};
    table.add({x, (x[1] < 0.0 ? 1.0 - 2.0 * x[1] : 1.0 + 3.0 * x[1]) + 0.1 * random.normal()});
  }
  return table;
}

ModeShape gated_shape() {
  ModeShape shape;
  shape.component_count = 2;
  shape.feature_count = 3;
  shape.modes = Modes::gated;
  shape.gate = {0, 1, 2};
  shape.noise = NoiseModel::per_component;
  return shape;
}

}  // namespace

TEST_CASE(
    "slices along the feature that chooses find the laws on both sides, and the gate turns between them") {
  const std::vector<ModeModel> starts = sliced_starts(gated_shape(), heating_and_cooling(2000));
  REQUIRE(starts.size() == 2);  // u, and v
  const ModeModel& start = starts[0];
  CHECK(start.laws.law(0)[1] == doctest::Approx(-2.0).epsilon(0.1));
  CHECK(start.laws.law(1)[1] == doctest::Approx(3.0).epsilon(0.1));
  CHECK(start.laws.noise_variances[0] < 0.05);
  CHECK(start.gate(0, 1) < -3.0);  // the first law holds below
  CHECK(start.gate(0, 2) == 0.0);
  CHECK(std::abs(start.gate(0, 0) / start.gate(0, 1)) < 0.1);  // and the other from the middle of u on
  CHECK(start.gate(1, 1) == 0.0);
}

TEST_CASE("there are no slices where too few rows, no gate or a feature that stands still would make them") {
  CHECK(sliced_starts(gated_shape(), heating_and_cooling(10)).empty());
  ModeShape shape = gated_shape();
  shape.modes = Modes::independent;
  CHECK(sliced_starts(shape, heating_and_cooling(2000)).empty());
  RowTable still = heating_and_cooling(2000);
  for (std::size_t i = 0; i < still.size(); ++i) still.features[3 * i + 1] = 0.5;
  CHECK(sliced_starts(gated_shape(), still).size() == 1);
}

TEST_CASE("shared noise has one variance in all slices") {
  ModeShape shape = gated_shape();
  shape.noise = NoiseModel::shared;
  const std::vector<ModeModel> starts = sliced_starts(shape, heating_and_cooling(2000));
  REQUIRE(starts.size() == 2);
  CHECK(starts[1].laws.noise_variances[0] == starts[1].laws.noise_variances[1]);
}
