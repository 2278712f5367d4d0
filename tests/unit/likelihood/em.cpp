#include "mixstream/likelihood/em.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/rows/simulation.hpp"

using namespace mixstream;

namespace {

SimulationSettings line_settings(std::size_t components, std::uint64_t seed) {
  return {.map = FeatureMap::parse("1,u,v").value(), .component_count = components, .seed = seed};
}

/// Gauss elimination with pivoting.
std::vector<double> solved(std::vector<std::vector<double>> a, std::vector<double> b) {
  const std::size_t d = b.size();
  for (std::size_t c = 0; c < d; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c; r < d; ++r) {
      if (std::abs(a[r][c]) > std::abs(a[pivot][c])) pivot = r;
    }
    std::swap(a[c], a[pivot]);
    std::swap(b[c], b[pivot]);
    for (std::size_t r = 0; r < d; ++r) {
      if (r == c) continue;
      const double factor = a[r][c] / a[c][c];
      for (std::size_t j = c; j < d; ++j) a[r][j] -= factor * a[c][j];
      b[r] -= factor * b[c];
    }
  }
  for (std::size_t c = 0; c < d; ++c) b[c] /= a[c][c];
  return b;
}

/// EM as the textbook writes it: weighted least squares on the rows, plain densities.
Mixture plain_em(const RowTable& rows, Mixture mixture, NoiseModel noise, int iterations) {
  const std::size_t k = mixture.component_count();
  const std::size_t d = mixture.feature_count;
  for (int round = 0; round < iterations; ++round) {
    std::vector<std::vector<double>> shares(k, std::vector<double>(rows.size()));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double total = 0.0;
      for (std::size_t h = 0; h < k; ++h) {
        double e = rows.responses[i];
        for (std::size_t j = 0; j < d; ++j) e -= mixture.law(h)[j] * rows.features[i * d + j];
        const double variance = mixture.noise_variances[h];
        shares[h][i] = mixture.weights[h] * std::exp(-0.5 * e * e / variance) / std::sqrt(variance);
        total += shares[h][i];
      }
      for (std::size_t h = 0; h < k; ++h) shares[h][i] *= rows.weights[i] / total;
    }
    const double all = std::accumulate(rows.weights.begin(), rows.weights.end(), 0.0);
    double all_squares = 0.0;
    for (std::size_t h = 0; h < k; ++h) {
      std::vector<std::vector<double>> gram(d, std::vector<double>(d, 0.0));
      std::vector<double> cross(d, 0.0);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t a = 0; a < d; ++a) {
          cross[a] += shares[h][i] * rows.features[i * d + a] * rows.responses[i];
          for (std::size_t b = 0; b < d; ++b) {
            gram[a][b] += shares[h][i] * rows.features[i * d + a] * rows.features[i * d + b];
          }
        }
      }
      std::ranges::copy(solved(gram, cross), mixture.law(h).begin());
      double squares = 0.0;
      double count = 0.0;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        double e = rows.responses[i];
        for (std::size_t j = 0; j < d; ++j) e -= mixture.law(h)[j] * rows.features[i * d + j];
        squares += shares[h][i] * e * e;
        count += shares[h][i];
      }
      mixture.weights[h] = count / all;
      all_squares += squares;
      if (noise == NoiseModel::per_component) mixture.noise_variances[h] = squares / count;
    }
    if (noise == NoiseModel::shared) std::ranges::fill(mixture.noise_variances, all_squares / all);
  }
  return mixture;
}

double distance(const Mixture& left, const Mixture& right) {
  double largest = 0.0;
  const auto compare = [&](const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  };
  compare(left.weights, right.weights);
  compare(left.coefficients, right.coefficients);
  compare(left.noise_variances, right.noise_variances);
  return largest;
}

constexpr NoiseModel noise_models[] = {NoiseModel::shared, NoiseModel::per_component, NoiseModel::known};

}  // namespace

TEST_CASE("EM takes the same steps as the textbook's, for every noise model and fractional weights") {
  Simulation simulation(line_settings(3, 11));
  RowTable rows = simulation.table(700);
  Random random(3);
  for (double& weight : rows.weights) weight = random.uniform(0.2, 2.5);
  for (const NoiseModel noise : noise_models) {
    for (const int iterations : {1, 2, 7}) {
      const EmFit fit = fit_em(rows, simulation.truth(),
                               {.noise = noise, .max_iterations = iterations, .stop_below_gain = -1.0});
      CHECK(fit.iterations == iterations);
      CHECK(distance(fit.mixture, plain_em(rows, simulation.truth(), noise, iterations)) < 1e-9);
    }
  }
}

TEST_CASE("the likelihood never falls along EM, and the reported one is that of the mixture") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Simulation simulation(line_settings(3, seed));
    const RowTable rows = simulation.table(500);
    Random random(seed);
    for (const NoiseModel noise : noise_models) {
      Mixture mixture = random_em_start(3, 3, random);
      double last = -1e300;
      for (int iteration = 0; iteration < 40; ++iteration) {
        const EmFit fit =
            fit_em(rows, mixture, {.noise = noise, .max_iterations = 1, .stop_below_gain = -1.0});
        mixture = fit.mixture;
        CHECK(fit.mean_log_likelihood == doctest::Approx(mean_log_likelihood(mixture, rows)).epsilon(1e-12));
        CHECK(fit.mean_log_likelihood > last - 1e-12);
        last = fit.mean_log_likelihood;
      }
    }
  }
}

TEST_CASE("EM stops where the score is zero") {
  Simulation simulation(line_settings(2, 5));
  RowTable rows = simulation.table(2000);
  for (std::size_t i = 0; i < rows.size(); i += 3) rows.weights[i] = 2.5;
  for (const NoiseModel noise : noise_models) {
    const EmFit fit = fit_em(rows, simulation.truth(),
                             {.noise = noise, .max_iterations = 100000, .stop_below_gain = 1e-15});
    CHECK(fit.converged);
    std::vector<double> score(parameter_count(2, 3, noise));
    std::vector<double> total(score.size(), 0.0);
    double probabilities[2];
    for (std::size_t i = 0; i < rows.size(); ++i) {
      row_score(fit.mixture, rows.row(i), noise, probabilities, score);
      for (std::size_t p = 0; p < score.size(); ++p) total[p] += rows.weights[i] * score[p];
    }
    for (const double value : total) CHECK(std::abs(value) / 2000.0 < 1e-5);
  }
}

TEST_CASE("a row of weight two counts as two rows") {
  Simulation simulation(line_settings(2, 9));
  RowTable weighted = simulation.table(300);
  RowTable repeated{3, {}, {}, {}};
  for (std::size_t i = 0; i < weighted.size(); ++i) {
    const std::size_t times = 1 + i % 3;
    for (std::size_t copy = 0; copy < times; ++copy) repeated.add(weighted.row(i));
    weighted.weights[i] = static_cast<double>(times);
  }
  for (const NoiseModel noise : noise_models) {
    const EmFit left = fit_em(weighted, simulation.truth(), {.noise = noise});
    const EmFit right = fit_em(repeated, simulation.truth(), {.noise = noise});
    CHECK(left.iterations == right.iterations);
    CHECK(left.mean_log_likelihood == doctest::Approx(right.mean_log_likelihood).epsilon(1e-12));
    CHECK(distance(left.mixture, right.mixture) < 1e-8);
  }
}

TEST_CASE("EM from the truth finds the truth, over many seeds") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimulationSettings settings = line_settings(2, seed);
    settings.coefficients = {1.0, 2.0, -1.0, -1.0, 0.5, 1.5};
    settings.noise_variances = {0.1, 0.3};
    Simulation simulation(settings);
    const EmFit fit =
        fit_em(simulation.table(20000), simulation.truth(), {.noise = NoiseModel::per_component});
    CHECK(fit.converged);
    CHECK(distance(fit.mixture, simulation.truth()) < 0.05);
  }
}

TEST_CASE("nothing non-finite leaves EM, whatever the rows and the start") {
  Random random(1);
  for (const NoiseModel noise : noise_models) {
    for (const double scale : {0.0, 1e-200, 1.0, 1e150, 1e300}) {
      for (const std::size_t count : {0U, 1U, 2U, 50U}) {
        RowTable rows{2, {}, {}, {}};
        for (std::size_t i = 0; i < count; ++i) {
          const double x[2] = {1.0, scale * random.normal()};
          rows.add({x, scale * random.normal()});
        }
        Mixture start = random_em_start(3, 2, random);
        start.weights = {0.0, 1e-320, 1.0};
        const EmFit fit = fit_em(rows, start, {.noise = noise, .max_iterations = 20});
        CHECK(std::isfinite(fit.mean_log_likelihood));
        CHECK(std::isfinite(distance(fit.mixture, empty_mixture(3, 2))));
        for (const double variance : fit.mixture.noise_variances) CHECK(variance > 0.0);
        CHECK(std::accumulate(fit.mixture.weights.begin(), fit.mixture.weights.end(), 0.0) ==
              doctest::Approx(1.0));
      }
    }
  }
}

TEST_CASE("dependent features keep the old law where the rows say nothing") {
  RowTable rows{2, {}, {}, {}};
  Random random(4);
  for (int i = 0; i < 100; ++i) {
    const double t = random.normal();
    const double x[2] = {t, t};
    rows.add({x, 2.0 * t + 0.1 * random.normal()});
  }
  const EmFit fit = fit_em(rows, {2, {1.0}, {5.0, 0.0}, {1.0}});
  CHECK(fit.mixture.law(0)[0] + fit.mixture.law(0)[1] == doctest::Approx(2.0).epsilon(0.05));
  CHECK(fit.mixture.law(0)[0] - fit.mixture.law(0)[1] == doctest::Approx(5.0).epsilon(1e-3));
}

TEST_CASE("the random start is the paper's") {
  Random random(7);
  for (const std::size_t k : {1U, 3U, 60U}) {
    const Mixture start = random_em_start(k, 4, random);
    CHECK(start.component_count() == k);
    CHECK(start.coefficients.size() == 4 * k);
    CHECK(std::accumulate(start.weights.begin(), start.weights.end(), 0.0) == doctest::Approx(1.0));
    for (const double weight : start.weights) CHECK(weight > 0.0);
    for (const double variance : start.noise_variances) CHECK(variance == 1.0);
  }
}

TEST_CASE("extrapolated EM ends where EM does, never goes down, and in fewer iterations where EM is slow") {
  SimulationSettings settings = line_settings(3, 12);
  settings.noise_variances = {1.0};  // laws that overlap
  Simulation simulation(settings);
  const RowTable rows = simulation.table(3000);
  for (const NoiseModel noise : {NoiseModel::shared, NoiseModel::per_component, NoiseModel::known}) {
    CAPTURE(static_cast<int>(noise));
    Mixture start = simulation.truth();
    for (double& coefficient : start.coefficients) coefficient *= 0.8;
    const EmSettings plain{.noise = noise, .max_iterations = 5000, .stop_below_gain = 1e-12};
    EmSettings extrapolated = plain;
    extrapolated.extrapolated = true;
    const EmFit slow = fit_em(rows, start, plain);
    const EmFit quick = fit_em(rows, start, extrapolated);
    REQUIRE(slow.converged);
    CHECK(quick.converged);
    CHECK(quick.iterations < 0.7 * slow.iterations);
    CHECK(quick.mean_log_likelihood == doctest::Approx(slow.mean_log_likelihood).epsilon(1e-9));
    CHECK(quick.mean_log_likelihood == doctest::Approx(mean_log_likelihood(quick.mixture, rows)));
    for (std::size_t i = 0; i < start.coefficients.size(); ++i)
      CHECK(quick.mixture.coefficients[i] == doctest::Approx(slow.mixture.coefficients[i]).epsilon(2e-3));
    double before = -1e300;
    for (int iterations = 1; iterations < 40; ++iterations) {
      extrapolated.max_iterations = iterations;
      const double now = fit_em(rows, start, extrapolated).mean_log_likelihood;
      CHECK(now >= before);
      before = now;
    }
  }
}
