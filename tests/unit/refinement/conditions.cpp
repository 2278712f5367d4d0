#include "mixstream/refinement/conditions.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/rows/simulation.hpp"
#include "support/expected_tensor.hpp"
#include "support/moments_of.hpp"

using namespace mixstream;

namespace {

struct Case {
  Mixture mixture;
  Layout layout;
  RowTable rows;
};

/// Rows with features uniform on [-1, 1]; weights differ.
Case random_case(int d, int constant, std::size_t k, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  Case result{empty_mixture(k, static_cast<std::size_t>(d)),
              {d, constant},
              {static_cast<std::size_t>(d), {}, {}, {}}};
  double total = 0.0;
  for (std::size_t h = 0; h < k; ++h) {
    total += result.mixture.weights[h] = 1.5 + uniform(random);
    result.mixture.noise_variances[h] = 0.2 + 0.1 * uniform(random);
    for (double& b : result.mixture.law(h)) b = uniform(random);
  }
  for (double& weight : result.mixture.weights) weight /= total;
  std::vector<double> x(static_cast<std::size_t>(d));
  for (std::size_t i = 0; i < count; ++i) {
    for (double& value : x) value = uniform(random);
    if (constant >= 0) x[static_cast<std::size_t>(constant)] = 1.0;
    result.rows.add({x, 2.0 * uniform(random), 1.0 + 0.5 * uniform(random)});
  }
  return result;
}

const std::vector<NoiseModel> noise_models{NoiseModel::shared, NoiseModel::per_component, NoiseModel::known};

}  // namespace

TEST_CASE("implied conditions equal the observed ones of expected rows") {
  for (const int constant : {0, 1, -1}) {
    for (const auto& [d, k] : {std::pair{2, 3u}, {3, 2u}, {4, 3u}}) {
      Case c = random_case(d, constant, k, 60, 5);
      const Conditions conditions(expected_tensor(c.rows, c.layout, c.mixture, 1e6), c.rows, ConditionSet{});
      std::vector<double> values;
      DenseMatrix jacobian;
      conditions.implied(c.mixture, NoiseModel::per_component, values, jacobian);
      REQUIRE(values.size() == conditions.observed().size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        CHECK(values[i] == doctest::Approx(conditions.observed()[i]).epsilon(1e-7).scale(1.0));
      }
    }
  }
}

TEST_CASE("the Jacobian of implied conditions equals finite differences") {
  for (const int constant : {0, 1, -1}) {
    for (const NoiseModel noise : noise_models) {
      Case c = random_case(3, constant, 3, 80, 6);
      const Conditions conditions(moments_of(c.rows, c.layout, Pilot::identity(c.layout.variables())), c.rows,
                                  ConditionSet{});
      if (noise == NoiseModel::shared) c.mixture.noise_variances.assign(3, 0.2);
      std::vector<double> theta = to_parameters(c.mixture, noise);
      std::vector<double> up;
      std::vector<double> down;
      DenseMatrix jacobian;
      DenseMatrix unused;
      Mixture moved = c.mixture;
      conditions.implied(c.mixture, noise, up, jacobian);
      for (std::size_t p = 0; p < theta.size(); ++p) {
        const double step = 1e-5;
        const double centre = theta[p];
        theta[p] = centre + step;
        from_parameters(theta, noise, moved);
        conditions.implied(moved, noise, up, unused);
        theta[p] = centre - step;
        from_parameters(theta, noise, moved);
        conditions.implied(moved, noise, down, unused);
        theta[p] = centre;
        for (std::size_t i = 0; i < up.size(); ++i) {
          CHECK(jacobian(i, p) == doctest::Approx((up[i] - down[i]) / (2.0 * step)).epsilon(1e-5).scale(1.0));
        }
      }
    }
  }
}

TEST_CASE("the model covariance agrees with simulated responses at fixed x") {
  Case c = random_case(2, 0, 2, 150, 7);
  c.rows.weights.assign(c.rows.size(), 1.0);
  std::mt19937 random(8);
  std::normal_distribution<double> normal;
  std::discrete_distribution<std::size_t> component(c.mixture.weights.begin(), c.mixture.weights.end());
  const Pilot raw = Pilot::identity(c.layout.variables());
  const Conditions conditions(moments_of(c.rows, c.layout, raw), c.rows, ConditionSet{});
  const DenseMatrix predicted = conditions.covariance(c.mixture);
  std::vector<double> implied;
  DenseMatrix jacobian;
  conditions.implied(c.mixture, NoiseModel::shared, implied, jacobian);
  const std::size_t size = conditions.size();
  std::vector<double> total(size * size, 0.0);
  const int draws = 4000;
  for (int draw = 0; draw < draws; ++draw) {
    RowTable rows = c.rows;  // the same x, so the same instruments up to the signs of eigenvectors
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t h = component(random);
      double mean = 0.0;
      for (std::size_t j = 0; j < 2; ++j) mean += c.mixture.law(h)[j] * rows.row(i).features[j];
      rows.responses[i] = mean + std::sqrt(c.mixture.noise_variances[h]) * normal(random);
    }
    const Conditions drawn(moments_of(rows, c.layout, raw), rows, ConditionSet{});
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) {
        total[i * size + j] += (drawn.observed()[i] - implied[i]) * (drawn.observed()[j] - implied[j]) *
                               static_cast<double>(rows.size()) / draws;
      }
    }
  }
  double largest = 0.0;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      const double scale = std::sqrt(predicted(i, i) * predicted(j, j));
      largest = std::max(largest, std::abs(total[i * size + j] - predicted(i, j)) / scale);
    }
  }
  CHECK(largest < 0.2);
}

TEST_CASE("halves of the sample make the whole covariance") {
  const Case c = random_case(3, -1, 2, 301, 9);
  const Conditions conditions(moments_of(c.rows, c.layout, Pilot::identity(c.layout.variables())), c.rows,
                              ConditionSet{});
  const DenseMatrix whole = conditions.covariance(c.mixture);
  const DenseMatrix even = conditions.covariance(c.mixture, {0, 2});
  const DenseMatrix odd = conditions.covariance(c.mixture, {1, 2});
  const double share = conditions.even_share();
  for (std::size_t i = 0; i < whole.values.size(); ++i) {
    CHECK(whole.values[i] ==
          doctest::Approx(share * even.values[i] + (1.0 - share) * odd.values[i]).epsilon(1e-10).scale(1.0));
  }
}

TEST_CASE("the error of a variance is what its rows scatter") {
  const Case c = random_case(3, -1, 2, 301, 9);
  const Conditions conditions(moments_of(c.rows, c.layout, Pilot::identity(c.layout.variables())), c.rows,
                              ConditionSet{});
  for (const int power : {3, highest_response_power}) {
    std::vector<double> sums(conditions.size(power));
    std::vector<double> squares(sums.size());
    for (std::size_t i = 0; i < c.rows.size(); ++i) {
      const DenseMatrix of_row = conditions.covariance(c.mixture, {i, c.rows.size()});
      for (std::size_t j = 0; j < sums.size(); ++j) {
        const double term = c.rows.weights[i] * of_row(j, j);
        sums[j] += term;
        squares[j] += term * term;
      }
    }
    double worst = 0.0;
    for (std::size_t j = 0; j < sums.size(); ++j) worst = std::max(worst, std::sqrt(squares[j]) / sums[j]);
    CHECK(conditions.variance_error(c.mixture, power) == doctest::Approx(worst).epsilon(1e-9));
  }
}

TEST_CASE("conditions are chosen by size and named") {
  CHECK(choose_conditions({8, 0}, 750).name(5) == "order6");
  CHECK(choose_conditions({8, 0}, 750).name(3) == "q<=3");
  CHECK(choose_conditions({12, 0}, 750).name(5) == "order6 degrees 2-2-3-2-1");
  CHECK(choose_conditions({16, 0}, 750).name(5) == "order6 degrees 2-2-2-2-1");
  CHECK(choose_conditions({16, 0}, 750).name(3) == "q<=3 degrees 2-2-2");
  CHECK(ConditionSet{}.count(4) == 74);
}
