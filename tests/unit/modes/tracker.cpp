// Filtered and smoothed modes against the sum over all paths, written out anew.
#include "mixstream/modes/tracker.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "mixstream/random.hpp"

using namespace mixstream;

namespace {

const ModeShape two{2, 1, Modes::persistent, {}, NoiseModel::shared, {}};

ModeModel model_with(double memory) {
  ModeModel model;
  model.laws = empty_mixture(2, 1);
  model.laws.weights = {2.0 / 3.0, 1.0 / 3.0};
  model.laws.coefficients = {1.0, -0.5};
  model.laws.noise_variances = {0.8, 0.8};
  model.transitions = {2, 2, {0.9, 0.1, 0.2, 0.8}};
  model.memory = memory;
  return model;
}

/// P(h_t = 1 | all rows) for every t, by all 2^T paths.
std::vector<double> by_paths(const ModeModel& model, const std::vector<double>& y) {
  std::vector<double> share(y.size());
  double total = 0.0;
  for (std::size_t path = 0; path < (1U << y.size()); ++path) {
    double term = 1.0;
    for (std::size_t t = 0; t < y.size(); ++t) {
      const std::size_t h = path >> t & 1U;
      const std::size_t before = t > 0 ? path >> (t - 1) & 1U : 0;
      term *= t == 0 ? model.laws.weights[h] : model.transitions(before, h);
      const double rho = model.memory;
      double e = y[t] - model.laws.coefficients[h];
      double variance = 0.8;
      if (t == 0)
        variance /= 1.0 - rho * rho;
      else
        e -= rho * (y[t - 1] - model.laws.coefficients[before]);
      term *= std::exp(-0.5 * e * e / variance) / std::sqrt(variance);
    }
    total += term;
    for (std::size_t t = 0; t < y.size(); ++t) share[t] += (path >> t & 1U) != 0 ? term : 0.0;
  }
  for (double& value : share) value /= total;
  return share;
}

}  // namespace

TEST_CASE("smoothed modes are those of all paths, with and without memory of the noise") {
  Random random(5);
  for (const double memory : {0.0, 0.6}) {
    CAPTURE(memory);
    ModeShape shape = two;
    shape.noise_shape.memory = memory > 0.0;
    const ModeModel model = model_with(memory);
    ModeTracker tracker(shape, model);
    std::vector<double> y;
    std::vector<double> filtered;
    std::vector<double> pairs;
    std::vector<unsigned char> begins;
    const std::vector<double> x{1.0};
    for (int t = 0; t < 9; ++t) {
      y.push_back(random.normal());
      const auto modes = tracker.follow({x, y.back()});
      filtered.insert(filtered.end(), modes.begin(), modes.end());
      pairs.insert(pairs.end(), tracker.pairs().begin(), tracker.pairs().end());
      begins.push_back(t == 0 ? 1 : 0);
      CHECK(modes[1] == doctest::Approx(by_paths(model, y).back()).epsilon(1e-10));  // given the rows so far
    }
    const std::vector<double> smooth = smoothed(2, filtered, pairs, begins);
    const std::vector<double> expected = by_paths(model, y);
    for (std::size_t t = 0; t < y.size(); ++t)
      CHECK(smooth[2 * t + 1] == doctest::Approx(expected[t]).epsilon(1e-10));
  }
}

TEST_CASE("what comes next: time left, and modes some rows ahead") {
  ModeTracker tracker(two, model_with(0.0));
  const std::vector<double> x{1.0};
  tracker.follow({x, 5.0});  // law 1 for sure
  CHECK(tracker.likeliest() == 0);
  CHECK(tracker.rows_left() == doctest::Approx(10.0));
  std::vector<double> ahead(2);
  tracker.ahead(0, ahead);
  CHECK(ahead[0] == tracker.probabilities()[0]);
  tracker.ahead(1, ahead);
  CHECK(ahead[1] == doctest::Approx(0.1 * tracker.probabilities()[0] + 0.8 * tracker.probabilities()[1]));
  tracker.ahead(1'000'000, ahead);
  CHECK(ahead[0] == doctest::Approx(2.0 / 3.0));
}

TEST_CASE("a cut in the chain keeps what lies behind it apart") {
  const std::vector<double> filtered{0.5, 0.5, 0.1, 0.9};
  const std::vector<double> pairs{0.5, 0.5, 0.0, 0.0, 0.1, 0.9, 0.0, 0.0};
  const std::vector<unsigned char> begins{1, 1};
  CHECK(smoothed(2, filtered, pairs, begins) == filtered);
}
