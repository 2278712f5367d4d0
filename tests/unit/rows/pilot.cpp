#include "mixstream/rows/pilot.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace mixstream;

namespace {

RowTable line_rows(std::size_t count, double centre) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  RowTable rows{2, {}, {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const double x[2] = {1.0, centre + normal(random)};
    rows.add({x, 3.0 * x[1] + normal(random)});
  }
  return rows;
}

}  // namespace

TEST_CASE("the pilot has power-of-two scales and shifts that are whole multiples of them") {
  const Layout layout{2, 0};
  const Pilot pilot = pilot_from(line_rows(256, 1000.0), layout);
  CHECK(pilot.shift[0] == 0.0);
  CHECK(pilot.scale[0] == 1.0);
  for (std::size_t j = 1; j < 3; ++j) {
    CHECK(std::exp2(std::round(std::log2(pilot.scale[j]))) == pilot.scale[j]);
    CHECK(std::fmod(pilot.shift[j], pilot.scale[j]) == 0.0);
  }
  CHECK(std::abs(pilot.shift[1] - 1000.0) < 4.0);
}

TEST_CASE("a few gross outliers in the first block do not move the pilot") {
  const Layout layout{2, 0};
  RowTable rows = line_rows(256, 0.0);
  const Pilot clean = pilot_from(rows, layout);
  for (std::size_t i = 0; i < 6; ++i) rows.responses[i * 40] = 1e9;
  const Pilot dirty = pilot_from(rows, layout);
  CHECK(std::abs(std::log2(dirty.scale[2] / clean.scale[2])) <= 1.0);
  CHECK(std::abs(dirty.shift[2] - clean.shift[2]) <= 2.0 * clean.scale[2]);
}

TEST_CASE("without a constant in x there is no shift") {
  const Pilot pilot = pilot_from(line_rows(100, 1000.0), {2, -1});
  for (const double shift : pilot.shift) CHECK(shift == 0.0);
}

TEST_CASE("constant and empty variables get a usable pilot") {
  RowTable rows{2, {}, {}, {}};
  for (int i = 0; i < 10; ++i) {
    const double x[2] = {1.0, 5.0};
    rows.add({x, 0.0});
  }
  const Pilot pilot = pilot_from(rows, {2, 0});
  CHECK(pilot.scale[1] == 4.0);
  CHECK(pilot.scale[2] == 1.0);
  CHECK(pilot_from(RowTable{2, {}, {}, {}}, {2, 0}) == Pilot::identity(3));
}

TEST_CASE("a law predicts the same in raw and in pilot coordinates") {
  const Layout layout{3, 1};
  Pilot pilot{{0.0, 3.0, -8.0, 40.0}, {1.0, 0.5, 4.0, 16.0}};
  Mixture mixture{3, {0.3, 0.7}, {1.0, 2.0, 3.0, -1.0, 0.5, 4.0}, {0.1, 0.4}};
  const double x[3] = {2.5, 1.0, -7.0};
  const Row row{x, 11.0};
  RowTable table{3, {}, {}, {}};
  table.add(row);
  const RowTable moved = to_pilot(table, layout, pilot);
  const Mixture there = to_pilot(mixture, layout, pilot);
  const Mixture back = to_raw(there, layout, pilot);
  for (std::size_t h = 0; h < 2; ++h) {
    double raw = 0.0;
    double piloted = 0.0;
    for (std::size_t i = 0; i < 3; ++i) {
      raw += mixture.law(h)[i] * x[i];
      piloted += there.law(h)[i] * moved.features[i];
      CHECK(back.law(h)[i] == doctest::Approx(mixture.law(h)[i]));
    }
    CHECK((raw - row.response) / 16.0 == doctest::Approx(piloted - moved.responses[0]));
    CHECK(there.noise_variances[h] == doctest::Approx(mixture.noise_variances[h] / 256.0));
    CHECK(back.noise_variances[h] == doctest::Approx(mixture.noise_variances[h]));
  }
}
