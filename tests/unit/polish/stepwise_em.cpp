#include "mixstream/polish/stepwise_em.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "mixstream/likelihood/em.hpp"
#include "mixstream/likelihood/matching.hpp"
#include "mixstream/rows/simulation.hpp"

using namespace mixstream;

namespace {

SimulationSettings two_laws(std::uint64_t seed) {
  return {.map = FeatureMap::parse("1,u,v").value(),
          .component_count = 2,
          .noise_variances = {0.1, 0.3},
          .coefficients = std::vector<double>{1.0, 2.0, -1.0, -1.0, 0.5, 1.5},
          .seed = seed};
}

Mixture shaken(Mixture mixture, double by) {
  for (std::size_t i = 0; i < mixture.coefficients.size(); ++i) {
    mixture.coefficients[i] += i % 2 == 0 ? by : -by;
  }
  return mixture;
}

}  // namespace

TEST_CASE("one pass of stepwise EM comes near what batch EM finds on the same rows") {
  for (const NoiseModel noise : {NoiseModel::shared, NoiseModel::per_component}) {
    std::vector<double> ratios;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      SimulationSettings settings = two_laws(seed);
      if (noise == NoiseModel::shared) settings.noise_variances = {0.2};
      Simulation simulation(settings);
      const RowTable rows = simulation.table(60000);
      StepwiseEm stepwise(shaken(simulation.truth(), 0.2), {.noise = noise});
      for (std::size_t i = 0; i < rows.size(); ++i) stepwise.add(rows.row(i));
      const EmFit batch = fit_em(rows, simulation.truth(), {.noise = noise});
      ratios.push_back(coefficient_error(simulation.truth(), stepwise.mixture()) /
                       coefficient_error(simulation.truth(), batch.mixture));
      const double weights =
          std::accumulate(stepwise.mixture().weights.begin(), stepwise.mixture().weights.end(), 0.0);
      CHECK(weights == doctest::Approx(1.0));
      for (std::size_t h = 0; h < 2; ++h) {
        CHECK(stepwise.mixture().noise_variances[h] ==
              doctest::Approx(batch.mixture.noise_variances[h]).epsilon(0.05));
      }
    }
    std::ranges::sort(ratios);
    CAPTURE(ratios.back());
    CHECK(ratios[ratios.size() / 2] < 1.6);
  }
}

TEST_CASE("with steps 1/t and one law, stepwise EM is least squares over all rows") {
  Simulation simulation({.map = FeatureMap::parse("1,u").value(), .component_count = 1, .seed = 3});
  RowTable rows = simulation.table(64 * 50);
  for (double& y : rows.responses) y += 1e4;  // the sums hold residuals: a large y costs no digits
  for (std::size_t i = 0; i < rows.size(); ++i) rows.weights[i] = i / 64 % 2 == 0 ? 1.0 : 3.0;
  StepwiseEm stepwise(Mixture{2, {1.0}, {9000.0, 5.0}, {1.0}}, {.step_exponent = 1.0, .step_delay = 10.0});
  for (std::size_t i = 0; i < rows.size(); ++i) stepwise.add(rows.row(i));
  const EmFit batch =
      fit_em(rows, Mixture{2, {1.0}, {9000.0, 5.0}, {1.0}}, {.max_iterations = 5, .stop_below_gain = -1.0});
  CHECK(stepwise.last_mixture().law(0)[0] == doctest::Approx(batch.mixture.law(0)[0]).epsilon(1e-5));
  CHECK(stepwise.last_mixture().noise_variances[0] ==
        doctest::Approx(batch.mixture.noise_variances[0]).epsilon(0.05));
}

TEST_CASE("a row of weight nine counts as nine rows") {
  StepwiseEm stepwise(Mixture{1, {1.0}, {0.5}, {1.0}});
  const double x[1] = {1.0};
  for (int i = 0; i < 64 * 2000; ++i) {
    if (i / 64 % 2 == 0) stepwise.add({x, 0.0, 1.0});
    if (i / 64 % 2 == 1) stepwise.add({x, 1.0, 9.0});
  }
  CHECK(stepwise.mixture().law(0)[0] == doctest::Approx(0.9).epsilon(0.02));
}

TEST_CASE("known noise variances are not touched") {
  Simulation simulation(two_laws(4));
  StepwiseEm stepwise(simulation.truth(), {.noise = NoiseModel::known});
  for (int i = 0; i < 20000; ++i) stepwise.add(simulation.next());
  CHECK(stepwise.mixture().noise_variances == simulation.truth().noise_variances);
  CHECK(coefficient_error(simulation.truth(), stepwise.mixture()) < 0.1);
}

TEST_CASE("unusable rows are left out and nothing non-finite comes back") {
  Simulation simulation(two_laws(5));
  const RowTable rows = simulation.table(10000);
  StepwiseEm clean(simulation.truth());
  StepwiseEm dirty(simulation.truth());
  const double nan = std::nan("");
  const double bad[3] = {1.0, nan, 0.0};
  const double narrow[2] = {1.0, 0.0};
  const double good[3] = {1.0, 0.0, 0.0};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    clean.add(rows.row(i));
    dirty.add(rows.row(i));
    dirty.add({bad, 1.0});
    dirty.add({narrow, 1.0});
    dirty.add({good, std::numeric_limits<double>::infinity()});
    dirty.add({good, 1.0, 0.0});
    dirty.add({good, 1.0, nan});
  }
  CHECK(clean.mixture() == dirty.mixture());
  CHECK(dirty.row_count() == 10000);
  for (int i = 0; i < 6400; ++i) dirty.add({good, i % 2 == 0 ? 1e200 : -1e200});
  CHECK(is_finite(dirty.mixture()));
}

TEST_CASE("a start or settings that make no sense are refused") {
  const Mixture start{1, {1.0}, {1.0}, {1.0}};
  CHECK_THROWS_AS(StepwiseEm(Mixture{1, {1.0}, {std::nan("")}, {1.0}}), std::invalid_argument);
  CHECK_THROWS_AS(StepwiseEm(start, {.step_exponent = 0.4}), std::invalid_argument);
  CHECK_THROWS_AS(StepwiseEm(start, {.step_delay = 0.0}), std::invalid_argument);
}
