// Distances between two estimates of the same laws, by forms written out.
#include "mixstream/refinement/hausman.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/linalg/matrix.hpp"

using namespace mixstream;

namespace {

/// Two lines whose parameters have errors of 0.1 each.
RefinedFit refined() {
  RefinedFit fit;
  fit.mixture = {2, {0.5, 0.5}, {0.0, 1.0, 3.0, -1.0}, {0.04, 0.04}};
  const std::size_t size = parameter_count(2, 2, NoiseModel::shared);
  fit.information = zero_matrix(size, size);
  for (std::size_t i = 0; i < size; ++i) fit.information(i, i) = 100.0;
  fit.distance = 30.0;
  fit.dof = 30;
  fit.condition_count = 36;
  return fit;
}

}  // namespace

TEST_CASE("a coefficient that is off by one error is a chi-square of one, whatever the order of laws") {
  const RefinedFit fit = refined();
  const auto size = static_cast<double>(fit.information.rows);
  Mixture moved = fit.mixture;
  moved.coefficients[0] += 0.1;
  CHECK(hausman_distance(fit, moved) == doctest::Approx(1.0 / size));
  const Mixture turned{2, {0.5, 0.5}, {3.0, -1.0, 0.1, 1.0}, {0.04, 0.04}};
  CHECK(hausman_distance(fit, turned) == doctest::Approx(1.0 / size));
}

TEST_CASE("models that differ are infinitely far apart") {
  CHECK(std::isinf(hausman_distance(refined(), {2, {1.0}, {0.0, 1.0}, {0.04}})));
}

TEST_CASE("laws ten errors apart lie apart, laws one error apart do not") {
  const RefinedFit fit = refined();
  Mixture moved = fit.mixture;
  for (double& coefficient : moved.coefficients) coefficient += 0.1;
  CHECK_FALSE(lies_apart(fit, moved));
  for (double& coefficient : moved.coefficients) coefficient += 0.9;
  CHECK(lies_apart(fit, moved));
}

TEST_CASE("where J of the previous fit is known, it decides instead of the form") {
  RefinedFit fit = refined();
  Mixture moved = fit.mixture;
  for (double& coefficient : moved.coefficients) coefficient += 1.0;
  fit.previous_distance = 35.0;
  CHECK(parting(fit, moved) == doctest::Approx(5.0 / 6.0));
  CHECK_FALSE(lies_apart(fit, moved));
  fit.previous_distance = 75.0;
  CHECK(lies_apart(fit, moved));
}

TEST_CASE("a fit from another start counts as found elsewhere only where it lies apart") {
  RefinedFit fit = refined();
  Mixture moved = fit.mixture;
  CHECK_FALSE(found_elsewhere(fit, moved));
  fit.elsewhere = true;
  CHECK_FALSE(found_elsewhere(fit, moved));
  for (double& coefficient : moved.coefficients) coefficient += 1.0;
  CHECK(found_elsewhere(fit, moved));
}

TEST_CASE("moments reject a polish whose J is too large, but never by low powers alone") {
  RefinedFit fit = refined();
  fit.previous_distance = 120.0;
  CHECK(moments_reject(fit, fit.mixture));
  fit.cubic = true;
  CHECK_FALSE(moments_reject(fit, fit.mixture));
}
