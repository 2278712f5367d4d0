#include "mixstream/following/pane_distance.hpp"

#include <doctest/doctest.h>

#include "mixstream/likelihood/chi_square.hpp"
#include "mixstream/rows/simulation.hpp"
#include "support/moments_of.hpp"

using namespace mixstream;

namespace {

/// The truth as a fit whose errors are negligible, or large.
RefinedFit fit_of(const Mixture& mixture, double information) {
  RefinedFit fit;
  fit.mixture = mixture;
  fit.information = {8, 8, std::vector<double>(64)};
  for (std::size_t i = 0; i < 8; ++i) fit.information(i, i) = information;
  return fit;
}

}  // namespace

TEST_CASE("a pane that follows the fit has J near its degrees of freedom, one that left it does not") {
  const Layout layout{3, 0};
  const Pilot pilot = Pilot::identity(layout.variables());
  double sum = 0.0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Simulation simulation({.map = FeatureMap::parse("1,u,v").value(), .component_count = 2, .seed = seed});
    const RowTable sample = simulation.table(4000);
    const MomentTensor usual = moments_of(simulation.table(20000), layout, pilot);
    const auto same = pane_distance(usual, sample, fit_of(simulation.truth(), 1e12));
    REQUIRE(same);
    CHECK(same.value().dof > 20);
    CHECK(same.value().deviations < 4.5);
    sum += same.value().distance / static_cast<double>(same.value().dof);

    Mixture later = simulation.truth();
    for (double& coefficient : later.coefficients) coefficient += 0.03;
    const Mixture before = simulation.truth();
    simulation.set_truth(later);
    const MomentTensor changed = moments_of(simulation.table(20000), layout, pilot);
    CHECK(pane_distance(changed, sample, fit_of(before, 1e12)).value().deviations > 6.0);
    // A fit that does not claim to know better is not contradicted.
    CHECK(pane_distance(changed, sample, fit_of(before, 200.0)).value().deviations < 4.5);
  }
  CHECK(sum / 20.0 == doctest::Approx(1.0).epsilon(0.15));
}

TEST_CASE("a pane without rows is refused") {
  const Layout layout{3, 0};
  const MomentTensor nothing(layout, Pilot::identity(layout.variables()));
  CHECK_FALSE(pane_distance(nothing, {}, fit_of(empty_mixture(2, 3), 1.0)));
}

TEST_CASE("chi-square readings become normal ones") {
  // 99.9% points of chi-square with 5 and 50 degrees of freedom, from tables.
  CHECK(deviations_of_chi_square(20.515, 5.0) == doctest::Approx(3.09).epsilon(0.01));
  CHECK(deviations_of_chi_square(86.661, 50.0) == doctest::Approx(3.09).epsilon(0.01));
}
