#include "mixstream/regression/rank.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "mixstream/core/random.hpp"
#include "support/moments.hpp"

using namespace mixstream;

namespace {

Mixture two_laws(std::size_t d, double noise) {
  Mixture mixture = empty_mixture(2, d);
  mixture.weights = {0.3, 0.7};
  mixture.noise_variances = {noise, noise};
  Random random(4);
  for (double& value : mixture.coefficients) value = random.normal();
  return mixture;
}

/// Cov(beta) = pi_1 pi_2 (beta_1 - beta_2)(beta_1 - beta_2)' for two laws.
double covariance(const Mixture& mixture, std::size_t a, std::size_t b) {
  return mixture.weights[0] * mixture.weights[1] * (mixture.law(0)[a] - mixture.law(1)[a]) *
         (mixture.law(0)[b] - mixture.law(1)[b]);
}

}  // namespace

TEST_CASE("the rank regression finds Cov(beta) and the noise variance from exact moments") {
  for (const bool constant : {false, true}) {
    for (const bool known : {false, true}) {
      const testing::Design design = testing::normal_design(3, constant);
      const Mixture truth = two_laws(3, 0.2);
      const MomentTensor tensor =
          testing::population(design.points, design.masses, design.layout, truth, 1e12);
      const FirstMoment first = first_moment(tensor);
      const CentralSystems systems = central_systems(tensor, first);
      RankSettings settings;
      settings.rows = 1e12;
      if (known) settings.noise_variance = 0.2;
      RankWorkspace workspace;
      std::vector<RankFit> fits;
      REQUIRE(fit_rank(systems.second, first, 1, settings, nullptr, workspace, fits));
      const RankFit& best = fits.front();
      CHECK(best.distance < 1e-20);
      CHECK(best.noise_variance == doctest::Approx(0.2).epsilon(1e-8));
      CHECK(best.noise_variance_error.has_value() == !known);
      for (std::size_t a = 0; a < 3; ++a)
        for (std::size_t b = 0; b < 3; ++b)
          CHECK(best.factor(a, 0) * best.factor(b, 0) ==
                doctest::Approx(covariance(truth, a, b)).epsilon(1e-8));
    }
  }
}

TEST_CASE("central systems are those of the residual e = y - M1 . x") {
  const testing::Design design = testing::normal_design(2, true);
  const Mixture truth = two_laws(2, 0.5);
  const MomentTensor tensor = testing::population(design.points, design.masses, design.layout, truth, 1e6);
  const FirstMoment first = first_moment(tensor);
  // The same moments summed over rows whose response is e.
  Mixture centred = truth;
  for (std::size_t h = 0; h < 2; ++h)
    for (std::size_t a = 0; a < 2; ++a) centred.law(h)[a] -= first.coefficients[a];
  const MomentTensor residual =
      testing::population(design.points, design.masses, design.layout, centred, 1e6);
  const CentralSystems systems = central_systems(tensor, first);
  const std::vector<double> second = residual.view(2, 2, 0).values;
  const std::vector<double> third = residual.view(3, 3, 0).values;
  for (std::size_t i = 0; i < second.size(); ++i) {
    CHECK(systems.second.cross[i] == doctest::Approx(second[i]).epsilon(1e-10).scale(1.0));
  }
  for (std::size_t i = 0; i < third.size(); ++i) {
    CHECK(systems.third.cross[i] == doctest::Approx(third[i]).epsilon(1e-10).scale(1.0));
  }
  CHECK(systems.second.response_square == doctest::Approx(residual.view(4, 0, 0).values[0]).epsilon(1e-10));
  CHECK(first.residual_square == doctest::Approx(residual.view(2, 0, 0).values[0]).epsilon(1e-10));
}
