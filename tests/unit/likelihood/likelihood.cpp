#include "mixstream/likelihood/likelihood.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "mixstream/likelihood/parameters.hpp"

using namespace mixstream;

namespace {

const Mixture mixture{2, {0.2, 0.5, 0.3}, {1.0, 2.0, -3.0, 4.0, 0.5, -0.25}, {0.1, 0.4, 2.0}};

/// p(y | x) as the textbook writes it, in long double.
long double plain_density(const Mixture& given, const Row& row) {
  long double density = 0.0L;
  for (std::size_t h = 0; h < given.component_count(); ++h) {
    long double e = row.response;
    for (std::size_t j = 0; j < row.features.size(); ++j) e -= given.law(h)[j] * row.features[j];
    const long double variance = given.noise_variances[h];
    density += given.weights[h] * std::exp(-e * e / (2.0L * variance)) /
               std::sqrt(2.0L * std::numbers::pi_v<long double> * variance);
  }
  return density;
}

RowTable random_rows(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0.1, 3.0);
  RowTable rows{2, {}, {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const double x[2] = {1.0, normal(random)};
    rows.add({x, 3.0 * normal(random), uniform(random)});
  }
  return rows;
}

}  // namespace

TEST_CASE("responsibilities and log-likelihood are those of the textbook") {
  const RowTable rows = random_rows(50, 1);
  double probabilities[3];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const long double density = plain_density(mixture, rows.row(i));
    CHECK(responsibilities(mixture, rows.row(i), probabilities) ==
          doctest::Approx(static_cast<double>(std::log(density))).epsilon(1e-13));
    for (std::size_t h = 0; h < 3; ++h) {
      Mixture one{
          2, {mixture.weights[h]}, {mixture.law(h)[0], mixture.law(h)[1]}, {mixture.noise_variances[h]}};
      CHECK(probabilities[h] ==
            doctest::Approx(static_cast<double>(plain_density(one, rows.row(i)) / density)).epsilon(1e-12));
    }
  }
}

TEST_CASE("a row's log-likelihood and most likely component agree with its probabilities") {
  const RowTable rows = random_rows(200, 7);
  double probabilities[3];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row row = rows.row(i);
    CHECK(log_likelihood(mixture, row) ==
          doctest::Approx(static_cast<double>(std::log(plain_density(mixture, row)))).epsilon(1e-13));
    responsibilities(mixture, row, probabilities);
    CHECK(most_likely_component(mixture, row) ==
          static_cast<std::size_t>(std::max_element(probabilities, probabilities + 3) - probabilities));
  }
  const double x[2] = {1.0, 1e250};
  CHECK(std::isfinite(log_likelihood(mixture, {x, -1e250})));
}

TEST_CASE("the mean log-likelihood respects row weights, for every number of rows about a block") {
  for (const std::size_t count : {1U, 3U, 4U, 63U, 64U, 65U, 127U, 130U, 1000U}) {
    const RowTable rows = random_rows(count, 2);
    long double sum = 0.0L;
    long double weight = 0.0L;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      sum += rows.weights[i] * std::log(plain_density(mixture, rows.row(i)));
      weight += rows.weights[i];
    }
    CHECK(mean_log_likelihood(mixture, rows) ==
          doctest::Approx(static_cast<double>(sum / weight)).epsilon(1e-12));
  }
}

TEST_CASE("row scores are the derivatives of the log-likelihood") {
  const RowTable rows = random_rows(20, 3);
  for (const NoiseModel noise : {NoiseModel::shared, NoiseModel::per_component, NoiseModel::known}) {
    Mixture given = mixture;
    if (noise == NoiseModel::shared) given.noise_variances = {0.4, 0.4, 0.4};
    const std::vector<double> theta = to_parameters(given, noise);
    std::vector<double> score(theta.size(), 1e9);
    double probabilities[3];
    for (std::size_t i = 0; i < rows.size(); ++i) {
      row_score(given, rows.row(i), noise, probabilities, score);
      for (std::size_t p = 0; p < theta.size(); ++p) {
        const double step = 1e-5;
        Mixture moved = given;
        double density[2];
        for (const int side : {0, 1}) {
          std::vector<double> there = theta;
          there[p] += side == 0 ? -step : step;
          from_parameters(there, noise, moved);
          density[side] = static_cast<double>(std::log(plain_density(moved, rows.row(i))));
        }
        CHECK(score[p] == doctest::Approx((density[1] - density[0]) / (2.0 * step)).epsilon(1e-6).scale(1.0));
      }
    }
  }
}

TEST_CASE("rows far beyond every law stay finite") {
  double probabilities[3];
  std::vector<double> score(11);
  for (const double y : {1e3, 1e8, 1e150, 1e300, -1e300}) {
    const double x[2] = {1.0, y / 3.0};
    const Row row{x, y};
    CHECK(std::isfinite(responsibilities(mixture, row, probabilities)));
    CHECK(probabilities[0] + probabilities[1] + probabilities[2] == doctest::Approx(1.0));
  }
  const double x[2] = {1.0, 50.0};
  CHECK(std::isfinite(row_score(mixture, {x, 1e6}, NoiseModel::per_component, probabilities, score)));
  for (const double value : score) CHECK(std::isfinite(value));
  Mixture empty = mixture;
  empty.weights = {0.0, 0.0, 1.0};
  CHECK(std::isfinite(responsibilities(empty, {x, 1.0}, probabilities)));
}
