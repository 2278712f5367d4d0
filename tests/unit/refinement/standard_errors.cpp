#include "mixstream/refinement/standard_errors.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "mixstream/likelihood/parameters.hpp"

using namespace mixstream;

namespace {

DenseMatrix random_covariance(std::size_t size, std::mt19937& random) {
  std::normal_distribution<double> normal;
  DenseMatrix root{size, size, std::vector<double>(size * size)};
  for (double& value : root.values) value = normal(random);
  DenseMatrix result{size, size, std::vector<double>(size * size)};
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t m = 0; m < size; ++m) result(i, j) += root(i, m) * root(j, m);
    }
  }
  return result;
}

/// (beta, pi, s2) of theta in raw coordinates, the long way.
std::vector<double> raw_values(const std::vector<double>& theta, NoiseModel noise, Mixture mixture,
                               const Layout& layout, const Pilot& pilot) {
  from_parameters(theta, noise, mixture);
  const Mixture raw = to_raw(mixture, layout, pilot);
  std::vector<double> values = raw.coefficients;
  values.insert(values.end(), raw.weights.begin(), raw.weights.end());
  values.insert(values.end(), raw.noise_variances.begin(), raw.noise_variances.end());
  return values;
}

}  // namespace

TEST_CASE("raw standard errors equal the delta method by finite differences") {
  std::mt19937 random(4);
  const Layout layout{3, 1};
  const Pilot pilot{{0.0, 3.0, -1.0, 0.5}, {1.0, 2.0, 0.25, 4.0}};
  for (const NoiseModel noise : {NoiseModel::shared, NoiseModel::per_component, NoiseModel::known}) {
    Mixture mixture{3, {0.5, 0.3, 0.2}, {1, 2, 3, -1, 0.5, 2, 0, 1, -2}, {0.1, 0.1, 0.1}};
    if (noise == NoiseModel::per_component) mixture.noise_variances = {0.1, 0.2, 0.3};
    std::vector<double> theta = to_parameters(mixture, noise);
    const DenseMatrix covariance = random_covariance(theta.size(), random);
    const MixtureErrors errors = raw_mixture_errors(mixture, noise, covariance, layout, pilot);
    const std::size_t count = 3 * 3 + 2 * 3;
    DenseMatrix slopes{count, theta.size(), std::vector<double>(count * theta.size())};
    for (std::size_t p = 0; p < theta.size(); ++p) {
      const double centre = theta[p];
      theta[p] = centre + 1e-6;
      const std::vector<double> up = raw_values(theta, noise, mixture, layout, pilot);
      theta[p] = centre - 1e-6;
      const std::vector<double> down = raw_values(theta, noise, mixture, layout, pilot);
      theta[p] = centre;
      for (std::size_t i = 0; i < count; ++i) slopes(i, p) = (up[i] - down[i]) / 2e-6;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const double expected =
          standard_error(covariance, {slopes.values.data() + i * theta.size(), theta.size()});
      CHECK(std::sqrt(errors.covariance(i, i)) == doctest::Approx(expected).epsilon(1e-5));
      const double given = i < 9    ? errors.coefficients[i]
                           : i < 12 ? errors.weights[i - 9]
                                    : errors.noise_variances[i - 12];
      CHECK(given == doctest::Approx(expected).epsilon(1e-5));
    }
  }
}

TEST_CASE("covariance is the inverse of information") {
  std::mt19937 random(5);
  const DenseMatrix information = random_covariance(6, random);
  const DenseMatrix covariance = covariance_from(information);
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 6; ++j) {
      double product = 0.0;
      for (std::size_t m = 0; m < 6; ++m) product += information(i, m) * covariance(m, j);
      CHECK(product == doctest::Approx(i == j ? 1.0 : 0.0).epsilon(1e-6).scale(1.0));
    }
  }
}
