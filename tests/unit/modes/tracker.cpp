// Filtered and smoothed modes against the sum over all paths, written out anew.
#include "mixstream/modes/tracker.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "mixstream/core/random.hpp"
#include "mixstream/modes/modes_now.hpp"

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

TEST_CASE("the modes of all sensors go ahead as one tracker does, however far") {
  ModeTracker tracker(two, model_with(0.0));
  const std::vector<double> x{1.0};
  ModesNow now{Modes::persistent, model_with(0.0).transitions, {7, 9}, {}, 1};
  for (const double y : {5.0, -4.0}) {  // law 1, then law 2
    tracker.follow({x, y}, 0);
    now.probabilities.insert(now.probabilities.end(), tracker.probabilities().begin(),
                             tracker.probabilities().end());
  }
  CHECK(now.place_of(9) == 1);
  CHECK_FALSE(now.place_of(8));
  std::vector<double> ahead(2);
  for (const unsigned rows : {0U, 1U, 2U, 5U, 13U, 64U}) {
    tracker.ahead(rows, ahead);
    const std::vector<double> after = now.after(1, rows);
    for (std::size_t h = 0; h < 2; ++h) CHECK(after[h] == doctest::Approx(ahead[h]).epsilon(1e-12));
  }
  CHECK(now.after(0, 1'000'000)[0] == doctest::Approx(2.0 / 3.0));
  const std::vector<double> halves{0.5, 0.5};
  CHECK(rows_left(now.transitions, halves) == doctest::Approx(7.5));  // dwells of 10 and 5 rows
  now.kind = Modes::gated;
  CHECK(now.after(0, 10) == std::vector<double>(now.of(0).begin(), now.of(0).end()));
}

TEST_CASE("a row without y gets what comes next: the chain's step, or the gate at its features") {
  ModeTracker tracker(two, model_with(0.0));
  const std::vector<double> x{1.0};
  tracker.follow({x, 5.0});
  std::vector<double> ahead(2);
  std::vector<double> passed(tracker.probabilities().begin(), tracker.probabilities().end());
  for (unsigned rows = 1; rows < 5; ++rows) {
    tracker.pass_on(x, passed);
    tracker.ahead(rows, ahead);
    CHECK(passed[0] == doctest::Approx(ahead[0]).epsilon(1e-12));
  }
  ModeShape shape{2, 2, Modes::gated, {0, 1}, NoiseModel::shared, {}};
  ModeModel model;
  model.laws = empty_mixture(2, 2);
  model.laws.weights = {0.5, 0.5};
  model.laws.noise_variances = {1.0, 1.0};
  model.gate = {2, 2, {-2.0, 3.0, 0.0, 0.0}};
  ModeTracker gated(shape, model);
  const std::vector<double> at{1.0, 1.5};
  gated.pass_on(at, passed);
  CHECK(passed[0] == doctest::Approx(1.0 / (1.0 + std::exp(2.0 - 4.5))).epsilon(1e-12));
}
