// The yardstick itself, against sums over all k^T paths and finite differences.
#include "yardstick.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <random>

using namespace yardstick;

namespace {

double normal_density(double e, double variance) {
  return std::exp(-0.5 * e * e / variance) / std::sqrt(2 * std::numbers::pi * variance);
}

double student_density(double e, double variance, double nu) {
  return std::tgamma((nu + 1) / 2) / std::tgamma(nu / 2) / std::sqrt(nu * std::numbers::pi * variance) *
         std::pow(1 + e * e / variance / nu, -(nu + 1) / 2);
}

constexpr std::size_t any_law = 99;

/// p(y_1 .. y_T) as a sum over paths of laws, or over those that end in one law: each path is a product of
/// densities and transitions.
double likelihood_by_paths(const Model& model, const Laws& laws, const Rows& rows,
                           std::size_t end = any_law) {
  const std::size_t k = model.laws;
  std::size_t paths = 1;
  for (std::size_t t = 0; t < rows.count(); ++t) paths *= k;
  double total = 0.0;
  for (std::size_t path = 0; path < paths; ++path) {
    double value = 1.0 / static_cast<double>(k);
    double noise_before = 0.0;
    std::size_t law_before = 0;
    std::size_t rest = path;
    for (std::size_t t = 0; t < rows.count(); ++t, rest /= k) {
      const std::size_t law = rest % k;
      double noise = rows.y[t];
      for (std::size_t c = 0; c < rows.features; ++c)
        noise -= laws.coefficients[law * rows.features + c] * rows.x[t * rows.features + c];
      const double innovation = t == 0 ? noise : noise - laws.memory * noise_before;
      const double variance = laws.variances[law] / (t == 0 ? 1 - laws.memory * laws.memory : 1.0);
      value *= model.tails ? student_density(innovation, variance, laws.freedom)
                           : normal_density(innovation, variance);
      if (t > 0) value *= laws.transitions[law_before * k + law];
      noise_before = noise;
      law_before = law;
    }
    if (end == any_law || law_before == end) total += value;
  }
  return total;
}

struct Drawn {
  Laws laws;
  Rows rows;
};

Drawn drawn(const Model& model, std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const std::size_t k = model.laws;
  Drawn one;
  for (std::size_t q = 0; q < k * model.features; ++q) one.laws.coefficients.push_back(normal(random));
  std::vector<double> weights(k);
  for (std::size_t i = 0; i < k; ++i) {
    double total = 0.0;
    if (model.chain || i == 0)
      for (double& weight : weights) total += weight = 0.2 + uniform(random);
    else
      total = 1.0;
    for (double& weight : weights) one.laws.transitions.push_back(weight /= total);
  }
  for (std::size_t i = 0; i < k; ++i)
    one.laws.variances.push_back(model.per_law || i == 0 ? 0.3 + uniform(random) : one.laws.variances[0]);
  if (model.memory) one.laws.memory = -0.6;
  if (model.tails) one.laws.freedom = 3.5;
  one.rows.features = model.features;
  for (std::size_t t = 0; t < count; ++t) {
    one.rows.y.push_back(2 * normal(random));
    for (std::size_t c = 0; c < model.features; ++c) one.rows.x.push_back(c == 0 ? 1.0 : normal(random));
  }
  return one;
}

const std::array<Model, 8> models{
    {{2, 2},
     {3, 2},
     {.laws = 3, .features = 2, .chain = false},
     {.laws = 3, .features = 2, .per_law = true},
     {.laws = 3, .features = 2, .memory = true},
     {.laws = 2, .features = 3, .memory = true, .per_law = true},
     {.laws = 2, .features = 2, .tails = true},
     {.laws = 3, .features = 2, .memory = true, .tails = true, .per_law = true}}};

}  // namespace

TEST_CASE("the likelihood is the sum over all paths of laws") {
  for (const Model& model : models)
    for (const std::size_t count : {1U, 2U, 5U, 8U}) {
      const Drawn one = drawn(model, count, 7 + static_cast<unsigned>(count));
      CHECK(sums_at(model, packed(model, one.laws), one.rows).log_likelihood ==
            doctest::Approx(std::log(likelihood_by_paths(model, one.laws, one.rows))).epsilon(1e-12));
    }
}

TEST_CASE("theta and laws tell the same") {
  for (const Model& model : models) {
    const std::vector<double> theta = packed(model, drawn(model, 1, 3).laws);
    REQUIRE(theta.size() == model.size());
    const std::vector<double> again = packed(model, unpacked(model, theta));
    for (std::size_t q = 0; q < theta.size(); ++q)
      CHECK(again[q] == doctest::Approx(theta[q]).epsilon(1e-12));
  }
}

TEST_CASE(
    "the gradient is that of finite differences, and the information the sum of its increments' squares") {
  for (const Model& model : models) {
    const Drawn one = drawn(model, 40, 11);
    const std::vector<double> theta = packed(model, one.laws);
    const Sums sums = sums_at(model, theta, one.rows);
    std::vector<double> squares(model.size());
    for (std::size_t q = 0; q < theta.size(); ++q) {
      std::vector<double> up = theta;
      std::vector<double> down = theta;
      up[q] += 1e-5;
      down[q] -= 1e-5;
      double before = 0.0;
      for (std::size_t count = 1; count <= one.rows.count(); ++count) {
        Rows part = one.rows;
        part.y.resize(count);
        const double slope =
            (sums_at(model, up, part).log_likelihood - sums_at(model, down, part).log_likelihood) / 2e-5;
        squares[q] += (slope - before) * (slope - before);
        before = slope;
      }
      CHECK(sums.gradient[q] == doctest::Approx(before).epsilon(1e-6));
      CHECK(sums.information[q * theta.size() + q] == doctest::Approx(squares[q]).epsilon(1e-5));
    }
  }
}

TEST_CASE("a fit ends where the likelihood is flat and no neighbour is likelier") {
  const Model model{.laws = 2, .features = 2, .memory = true};
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  Drawn one = drawn(model, 0, 4);
  one.laws = {{1.0, 2.0, -1.0, 0.5}, {0.95, 0.05, 0.1, 0.9}, {0.2, 0.2}, 0.6, one.laws.freedom};
  double noise = 0.0;
  std::size_t law = 0;
  for (int t = 0; t < 5000; ++t) {
    if (std::uniform_real_distribution<double>()(random) > one.laws.transitions[3 * law]) law = 1 - law;
    noise = 0.6 * noise + std::sqrt(0.2) * normal(random);
    const double x = normal(random);
    one.rows.x.insert(one.rows.x.end(), {1.0, x});
    one.rows.y.push_back(one.laws.coefficients[2 * law] + one.laws.coefficients[2 * law + 1] * x + noise);
  }
  const Fit best = fit(model, one.laws, one.rows);
  CHECK(best.converged);
  const double top = sums_at(model, best.theta, one.rows).log_likelihood;
  CHECK(top > sums_at(model, packed(model, one.laws), one.rows).log_likelihood);
  for (std::size_t q = 0; q < best.theta.size(); ++q) {
    const double error = std::sqrt(best.covariance[q * best.theta.size() + q]);
    CHECK(std::abs(best.theta[q] - packed(model, one.laws)[q]) < 4 * error);
    for (const double side : {-0.3, 0.3}) {
      std::vector<double> theta = best.theta;
      theta[q] += side * error;
      CHECK(sums_at(model, theta, one.rows).log_likelihood < top);
    }
  }
  const Weights weights = weights_of(model, best);
  CHECK(std::abs(weights.values[0] - 2.0 / 3.0) < 4 * weights.errors[0]);
  CHECK(weights.values[0] + weights.values[1] == doctest::Approx(1.0));
}

TEST_CASE("filtered probabilities are the shares of the paths that end in a law") {
  for (const Model& model : models) {
    const Drawn one = drawn(model, 6, 19);
    const std::vector<double> all = filtered(model, one.laws, one.rows);
    const double whole = likelihood_by_paths(model, one.laws, one.rows);
    for (std::size_t h = 0; h < model.laws; ++h)
      CHECK(all[5 * model.laws + h] ==
            doctest::Approx(likelihood_by_paths(model, one.laws, one.rows, h) / whole).epsilon(1e-12));
  }
}

TEST_CASE("a fit reaches its optimum where some changes of law were seen once or never") {
  const Model model{.laws = 3, .features = 1};
  std::mt19937_64 random(8);
  std::normal_distribution<double> normal;
  const Laws truth{
      {0.0, 2.0, 4.0}, {0.98, 0.01, 0.01, 0.01, 0.98, 0.01, 0.01, 0.01, 0.98}, {0.25, 0.25, 0.25}};
  Rows rows{1, {}, {}};
  for (const std::size_t law : {0U, 1U, 0U, 2U, 0U})  // 1 to 2 and 2 to 1 never
    for (int t = 0; t < 200; ++t) {
      rows.x.push_back(1.0);
      rows.y.push_back(truth.coefficients[law] + 0.5 * normal(random));
    }
  const Fit best = fit(model, truth, rows);
  CHECK(best.converged);
  CHECK(best.passes < 50);
  const std::vector<double>& a = best.laws.transitions;
  CHECK(a[1] ==
        doctest::Approx(1.5 / 601).epsilon(0.1));  // once in some 600 rows, and half a change of the prior
  CHECK(a[5] == doctest::Approx(0.5 / 201).epsilon(0.1));
}
