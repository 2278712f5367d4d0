#include "mixstream/likelihood/matching.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>

using namespace mixstream;

namespace {

Mixture drawn(std::size_t components, std::size_t features, std::mt19937& random) {
  std::normal_distribution<double> normal;
  Mixture mixture = empty_mixture(components, features);
  for (double& value : mixture.coefficients) value = normal(random);
  std::ranges::fill(mixture.weights, 1.0 / static_cast<double>(components));
  std::ranges::fill(mixture.noise_variances, 1.0);
  return mixture;
}

double cost(const Mixture& reference, const Mixture& mixture, const std::vector<std::size_t>& order,
            const std::vector<double>& metric) {
  const std::size_t d = reference.feature_count;
  double sum = 0.0;
  for (std::size_t h = 0; h < std::min(order.size(), reference.component_count()); ++h) {
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < d; ++j) {
        const double m = metric.empty() ? (i == j ? 1.0 : 0.0) : metric[i * d + j];
        sum += (reference.law(h)[i] - mixture.law(order[h])[i]) * m *
               (reference.law(h)[j] - mixture.law(order[h])[j]);
      }
    }
  }
  return sum;
}

bool is_permutation_of_all(std::vector<std::size_t> order, std::size_t count) {
  std::ranges::sort(order);
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), 0U);
  return order == all;
}

}  // namespace

TEST_CASE("the matching order is the best of all permutations, plain and in a metric") {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 300; ++round) {
    const std::size_t k = 1 + random() % 6;
    const std::size_t d = 1 + random() % 3;
    const Mixture reference = drawn(k, d, random);
    const Mixture mixture = drawn(k, d, random);
    std::vector<double> metric;
    if (round % 2 == 1) {
      std::vector<double> root(d * d);
      for (double& value : root) value = normal(random);
      metric.assign(d * d, 0.0);
      for (std::size_t i = 0; i < d * d * d; ++i)
        metric[i / d] += root[i / (d * d) * d + i % d] * root[i / d % d * d + i % d];
    }
    std::vector<std::size_t> order(k);
    std::iota(order.begin(), order.end(), 0U);
    double best = std::numeric_limits<double>::infinity();
    do {
      best = std::min(best, cost(reference, mixture, order, metric));
    } while (std::ranges::next_permutation(order).found);
    const std::vector<std::size_t> found = matching_order(reference, mixture, metric);
    CHECK(is_permutation_of_all(found, k));
    CHECK(cost(reference, mixture, found, metric) == doctest::Approx(best).epsilon(1e-12));
    if (metric.empty())
      CHECK(coefficient_error(reference, mixture) == doctest::Approx(std::sqrt(best)).epsilon(1e-12));
  }
}

TEST_CASE("a shuffled mixture of 32 components finds its labels again") {
  std::mt19937 random(2);
  for (int round = 0; round < 50; ++round) {
    const Mixture reference = drawn(32, 4, random);
    std::vector<std::size_t> shuffle(32);
    std::iota(shuffle.begin(), shuffle.end(), 0U);
    std::ranges::shuffle(shuffle, random);
    Mixture moved = relabelled(reference, shuffle);
    for (double& value : moved.coefficients) value += 1e-6;
    const Mixture back = relabelled(moved, matching_order(reference, moved));
    for (std::size_t i = 0; i < back.coefficients.size(); ++i) {
      CHECK(back.coefficients[i] == doctest::Approx(reference.coefficients[i]).epsilon(1e-5).scale(1.0));
    }
  }
}

TEST_CASE("the metric decides what is near") {
  const Mixture reference{2, {0.5, 0.5}, {0.0, 0.0, 10.0, 1.0}, {1.0, 1.0}};
  const Mixture mixture{2, {0.5, 0.5}, {0.0, 1.0, 10.0, 0.0}, {1.0, 1.0}};
  CHECK(matching_order(reference, mixture) == std::vector<std::size_t>{0, 1});
  const double metric[4] = {1e-6, 0.0, 0.0, 1.0};  // the first feature hardly moves y
  CHECK(matching_order(reference, mixture, metric) == std::vector<std::size_t>{1, 0});
}

TEST_CASE("a component more or less leaves the others their labels") {
  std::mt19937 random(3);
  const Mixture reference = drawn(3, 2, random);
  Mixture more = drawn(4, 2, random);
  std::ranges::copy(reference.law(2), more.law(0).begin());
  std::ranges::copy(reference.law(0), more.law(1).begin());
  std::ranges::copy(reference.law(1), more.law(3).begin());
  CHECK(matching_order(reference, more) == std::vector<std::size_t>{1, 3, 0, 2});
  const Mixture fewer{
      2, {0.5, 0.5}, {more.law(0)[0], more.law(0)[1], more.law(1)[0], more.law(1)[1]}, {1.0, 1.0}};
  CHECK(matching_order(reference, fewer) == std::vector<std::size_t>{1, 0});
  CHECK_THROWS_AS(coefficient_error(reference, more), std::invalid_argument);
}

TEST_CASE("absurd laws still get an order") {
  const double nan = std::nan("");
  const Mixture reference{1, {0.5, 0.3, 0.2}, {1e300, -1e300, 0.0}, {1.0, 1.0, 1.0}};
  const Mixture mixture{1, {0.5, 0.3, 0.2}, {nan, 1e300, 1.0}, {1.0, 1.0, 1.0}};
  CHECK(matching_order(reference, mixture) == std::vector<std::size_t>{1, 0, 2});
  CHECK(std::isfinite(coefficient_error(reference, mixture)));
}
