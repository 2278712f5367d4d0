#include "mixstream/rows/simulation.hpp"

#include <doctest/doctest.h>

using namespace mixstream;

TEST_CASE("a simulated stream has the means, weights and noise it says") {
  SimulationSettings settings{.map = FeatureMap::parse("1,t").value(), .component_count = 2};
  settings.weights = {0.75, 0.25};
  settings.noise_variances = {0.5, 2.0};
  settings.seed = 9;
  Simulation simulation(settings);
  const Mixture& truth = simulation.truth();
  double count[2] = {};
  double error[2] = {};
  double square[2] = {};
  for (int i = 0; i < 40000; ++i) {
    const Row row = simulation.next();
    const std::size_t h = simulation.component();
    const double residual = row.response - truth.law(h)[0] - truth.law(h)[1] * row.features[1];
    CHECK(std::abs(row.features[1]) <= 1.0);
    count[h] += 1;
    error[h] += residual;
    square[h] += residual * residual;
  }
  CHECK(count[0] / 40000 == doctest::Approx(0.75).epsilon(0.02));
  for (std::size_t h = 0; h < 2; ++h) {
    CHECK(std::abs(error[h] / count[h]) < 0.06);
    CHECK(square[h] / count[h] == doctest::Approx(settings.noise_variances[h]).epsilon(0.06));
  }
}

TEST_CASE("the same seed gives the same rows, another seed others, and the cut leaves its intervals out") {
  SimulationSettings settings{.map = FeatureMap::parse("1,t").value()};
  settings.cut = true;
  const RowTable one = Simulation(settings).table(500);
  CHECK(one.responses == Simulation(settings).table(500).responses);
  settings.seed = 2;
  CHECK(one.responses != Simulation(settings).table(500).responses);
  for (std::size_t i = 0; i < one.size(); ++i) {
    const double t = std::abs(one.row(i).features[1]);
    CHECK((t < 0.25 || t > 0.5));
  }
}
