#include "mixstream/likelihood/parameters.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

using namespace mixstream;

namespace {

const Mixture mixture{2, {0.2, 0.5, 0.3}, {1.0, 2.0, -3.0, 4.0, 0.5, -0.25}, {0.1, 0.4, 2.0}};

}  // namespace

TEST_CASE("the parameter vector holds laws, log-odds and log variances in this order") {
  CHECK(parameter_count(3, 2, NoiseModel::known) == 8);
  CHECK(parameter_count(3, 2, NoiseModel::shared) == 9);
  CHECK(parameter_count(3, 2, NoiseModel::per_component) == 11);
  CHECK(parameter_count(1, 5, NoiseModel::known) == 5);
  const std::vector<double> theta = to_parameters(mixture, NoiseModel::per_component);
  REQUIRE(theta.size() == 11);
  CHECK(theta[3] == 4.0);
  CHECK(theta[6] == doctest::Approx(std::log(0.2 / 0.3)));
  CHECK(theta[7] == doctest::Approx(std::log(0.5 / 0.3)));
  CHECK(theta[10] == doctest::Approx(std::log(2.0)));
}

TEST_CASE("a mixture survives the way to parameters and back") {
  for (const NoiseModel noise : {NoiseModel::shared, NoiseModel::per_component, NoiseModel::known}) {
    Mixture given = mixture;
    if (noise == NoiseModel::shared) given.noise_variances = {0.4, 0.4, 0.4};
    Mixture back = empty_mixture(3, 2);
    if (noise == NoiseModel::known) back.noise_variances = given.noise_variances;
    from_parameters(to_parameters(given, noise), noise, back);
    CHECK(back.coefficients == given.coefficients);
    for (std::size_t h = 0; h < 3; ++h) {
      CHECK(back.weights[h] == doctest::Approx(given.weights[h]).epsilon(1e-14));
      CHECK(back.noise_variances[h] == doctest::Approx(given.noise_variances[h]).epsilon(1e-14));
    }
  }
}

TEST_CASE("extreme parameters give weights that sum to one and positive finite variances") {
  const std::vector<double> theta = {1.0, 2.0, 3.0, 4.0, 800.0, -1000.0, 1000.0};
  Mixture back = empty_mixture(2, 2);
  from_parameters(theta, NoiseModel::per_component, back);
  CHECK(back.weights[0] + back.weights[1] == 1.0);
  for (const double variance : back.noise_variances) {
    CHECK(variance > 0.0);
    CHECK(std::isfinite(variance));
  }
  Mixture empty = mixture;
  empty.weights = {0.0, 1.0, 0.0};
  for (const double value : to_parameters(empty, NoiseModel::shared)) CHECK(std::isfinite(value));
}
