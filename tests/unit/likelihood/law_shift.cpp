// Rows that obey other laws are seen; modes that last, shares and noise are no other laws.
#include "mixstream/likelihood/law_shift.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "mixstream/core/random.hpp"

using namespace mixstream;

namespace {

constexpr double noise_sd = 0.1;

Mixture laws() {
  Mixture mixture = empty_mixture(2, 2);
  mixture.weights = {0.4, 0.6};
  mixture.coefficients = {1.0, 2.0, -1.0, 0.5};
  mixture.noise_variances = {noise_sd * noise_sd, noise_sd * noise_sd};
  return mixture;
}

/// Rows of the laws whose second intercept is moved; `stay`: the chance that the mode of the row before
/// holds.
RowTable rows(std::size_t count, double stay, double shift, std::uint64_t seed, double noise = noise_sd) {
  Random numbers(seed);
  const Mixture mixture = laws();
  RowTable table{2, {}, {}, {}};
  std::size_t mode = numbers.uniform() < mixture.weights[0] ? 0 : 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (numbers.uniform() > stay) mode = numbers.uniform() < mixture.weights[0] ? 0 : 1;
    const double x[2] = {1.0, 2.0 * numbers.uniform() - 1.0};
    const double mean = mixture.law(mode)[0] + mixture.law(mode)[1] * x[1] + (mode == 1 ? shift : 0.0);
    table.add({x, mean + noise * numbers.normal()});
  }
  return table;
}

double most_deviations(double stay, double noise = noise_sd) {
  double most = -100.0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed)
    most = std::max(
        most, shift_of_laws(rows(512, stay, 0.0, seed, noise), laws(), NoiseModel::shared, 0.0).deviations);
  return most;
}

}  // namespace

TEST_CASE("rows of the laws pull none of them away, whether modes last or not") {
  CHECK(most_deviations(0.0) < 4.0);
  CHECK(most_deviations(0.98) < 4.0);
  CHECK(most_deviations(0.999) < 4.0);
}

TEST_CASE("louder noise is no other law") {
  CHECK(most_deviations(0.0, 2.0 * noise_sd) < 4.0);
}

TEST_CASE("a law that moved by three noise sds is found, with its size and the others left alone") {
  for (const double stay : {0.0, 0.98}) {
    const LawShift shift = shift_of_laws(rows(512, stay, 3.0 * noise_sd, 7), laws(), NoiseModel::shared, 0.0);
    CHECK(shift.deviations > 12.0);
    CHECK(shift.size == doctest::Approx(3.0).epsilon(0.15));
    CHECK(shift.component == 1);
    CHECK(std::abs(shift.now.law(1)[0] - (laws().law(1)[0] + 3.0 * noise_sd)) < 0.05);
    CHECK(std::abs(shift.now.law(0)[0] - laws().law(0)[0]) < 0.05);
  }
}

TEST_CASE("laws that few rows stand behind are believed less") {
  const RowTable moved = rows(512, 0.0, 0.5 * noise_sd, 11);
  const double sure = shift_of_laws(moved, laws(), NoiseModel::shared, 0.0).deviations;
  const double weak = shift_of_laws(moved, laws(), NoiseModel::shared, 512.0).deviations;
  CHECK(sure > weak + 1.0);
}

TEST_CASE("a law with hardly a row stays, and nothing to judge is no shift") {
  RowTable one_mode{2, {}, {}, {}};
  Random numbers(3);
  for (int i = 0; i < 500; ++i) {
    const double x[2] = {1.0, 2.0 * numbers.uniform() - 1.0};
    one_mode.add({x, 1.0 + 2.0 * x[1] + noise_sd * numbers.normal()});
  }
  one_mode.add({one_mode.row(0).features, 40.0});  // one stray row
  const LawShift shift = shift_of_laws(one_mode, laws(), NoiseModel::per_component, 0.0);
  CHECK(shift.now.law(1)[0] == laws().law(1)[0]);
  CHECK(shift_of_laws(RowTable{2, {}, {}, {}}, laws(), NoiseModel::shared, 0.0) ==
        LawShift{0.0, 0.0, 0, laws()});
  CHECK(shift_of_laws(RowTable{3, {}, {}, {}}, laws(), NoiseModel::shared, 0.0).deviations == 0.0);
}
