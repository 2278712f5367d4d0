#include "mixstream/likelihood/prediction.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "mixstream/likelihood/likelihood.hpp"

using namespace mixstream;

namespace {

const Mixture mixture{2, {0.2, 0.5, 0.3}, {1.0, 2.0, -3.0, 4.0, 0.5, -0.25}, {0.1, 0.4, 2.0}};

/// P(y < at | x) by adding up the density in small slices.
double probability_below(const Mixture& given, std::span<const double> x, double at) {
  const int slices = 200000;
  const double from = -60.0;
  const double width = (at - from) / slices;
  double sum = 0.0;
  for (int i = 0; i < slices; ++i)
    sum += width * std::exp(log_likelihood(given, {x, from + (i + 0.5) * width}));
  return sum;
}

}  // namespace

TEST_CASE("the expected response is the weighted mean of the laws") {
  const double x[2] = {1.0, 0.5};
  CHECK(expected_response(mixture, x) == doctest::Approx(0.2 * 2.0 + 0.5 * -1.0 + 0.3 * 0.375));
}

TEST_CASE("the predictive interval leaves equal tails outside") {
  for (const double t : {-2.0, 0.0, 0.7, 3.0}) {
    const double x[2] = {1.0, t};
    for (const double level : {0.1, 0.5, 0.9, 0.99}) {
      const Interval interval = predictive_interval(mixture, x, level);
      CHECK(probability_below(mixture, x, interval.low) == doctest::Approx(0.5 - 0.5 * level).epsilon(1e-5));
      CHECK(probability_below(mixture, x, interval.high) == doctest::Approx(0.5 + 0.5 * level).epsilon(1e-5));
    }
  }
}

TEST_CASE("one component's interval is the normal one, deep tails included") {
  const Mixture one{1, {1.0}, {2.0}, {9.0}};
  const double x[1] = {1.0};
  const double quantile[3] = {1.959963984540054, 3.290526731491901,
                              6.109410204869};  // of the standard normal
  const double level[3] = {0.95, 0.999, 1.0 - 1e-9};
  for (int i = 0; i < 3; ++i) {
    const Interval interval = predictive_interval(one, x, level[i]);
    CHECK(interval.low == doctest::Approx(2.0 - 3.0 * quantile[i]).epsilon(1e-8));
    CHECK(interval.high == doctest::Approx(2.0 + 3.0 * quantile[i]).epsilon(1e-8));
  }
}

TEST_CASE("intervals grow with the level, and every level gives a finite one") {
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 200; ++round) {
    Mixture drawn = empty_mixture(4, 2);
    for (double& value : drawn.coefficients) value = 100.0 * normal(random);
    for (double& value : drawn.noise_variances) value = std::pow(10.0, 4.0 * normal(random));
    drawn.weights = {0.97, 0.01, 0.01, 0.01};
    const double x[2] = {1.0, normal(random)};
    Interval last = predictive_interval(drawn, x, 0.0);
    CHECK(last.low == last.high);
    for (const double level : {0.01, 0.3, 0.9, 0.999999, 1.0, 7.0}) {
      const Interval interval = predictive_interval(drawn, x, level);
      CHECK(std::isfinite(interval.low));
      CHECK(std::isfinite(interval.high));
      CHECK(interval.low <= last.low);
      CHECK(interval.high >= last.high);
      last = interval;
    }
  }
  const double x[2] = {1.0, 1e300};
  const Interval far =
      predictive_interval({2, {0.5, 0.5}, {1.0, 1e200, 1.0, -1e200}, {1.0, 1.0}}, x, std::nan(""));
  CHECK(std::isfinite(far.low));
  CHECK(std::isfinite(far.high));
}

TEST_CASE("the interval covers what the mixture makes") {
  std::mt19937_64 random(8);
  std::normal_distribution<double> normal;
  std::discrete_distribution<std::size_t> pick(mixture.weights.begin(), mixture.weights.end());
  int inside = 0;
  for (int i = 0; i < 20000; ++i) {
    const double x[2] = {1.0, normal(random)};
    const std::size_t h = pick(random);
    const double y =
        mixture.law(h)[0] + mixture.law(h)[1] * x[1] + std::sqrt(mixture.noise_variances[h]) * normal(random);
    const Interval interval = predictive_interval(mixture, x, 0.8);
    if (y > interval.low && y < interval.high) ++inside;
  }
  CHECK(std::abs(inside / 20000.0 - 0.8) < 0.012);  // four standard errors
}

TEST_CASE("a row with its response is judged by it, a row without by the weights") {
  const double x[2] = {1.0, 0.5};  // the laws say 2, -1 and 0.375
  std::vector<double> probabilities(3);
  const RowPrediction blind = predict_row(mixture, x, std::nullopt, 0.9, probabilities);
  CHECK(blind.component == 1);
  CHECK(probabilities == mixture.weights);
  CHECK(blind.expected == doctest::Approx(expected_response(mixture, x)));
  const RowPrediction seen = predict_row(mixture, x, 2.0, 0.9, probabilities);
  double density[3];
  const double law[3] = {2.0, -1.0, 0.375};
  for (int h = 0; h < 3; ++h) {
    const double variance = mixture.noise_variances[h];
    density[h] =
        mixture.weights[h] * std::exp(-0.5 * std::pow(2.0 - law[h], 2) / variance) / std::sqrt(variance);
  }
  const double total = density[0] + density[1] + density[2];
  CHECK(seen.component == 0);
  double expected = 0.0;
  for (int h = 0; h < 3; ++h) {
    CHECK(probabilities[h] == doctest::Approx(density[h] / total));
    expected += density[h] / total * law[h];
  }
  CHECK(seen.expected == doctest::Approx(expected));
  CHECK(seen.interval.low == blind.interval.low);
  CHECK(seen.interval.high == blind.interval.high);
}
