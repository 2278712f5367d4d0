// The small decisions of a search, each on made-up candidates.
#include "mixstream/refinement/candidates.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "mixstream/likelihood/parameters.hpp"

using namespace mixstream;

namespace {

/// Two laws of d = 2 about which nothing else is said.
Mixture lines(double first, double second) {
  return {2, {0.5, 0.5}, {first, 1.0, second, -1.0}, {0.04, 0.04}};
}

RefinedFit fit_of(bool accepted, double distance, double deviance, std::size_t conditions = 40) {
  RefinedFit fit;
  fit.accepted = accepted;
  fit.distance = distance;
  fit.deviance = deviance;
  fit.condition_count = conditions;
  fit.dof = conditions - 7;
  return fit;
}

EmFit optimum(double mean_log_likelihood) {
  return {lines(0.0, 1.0), mean_log_likelihood, 10, true};
}

}  // namespace

TEST_CASE("an accepted fit beats a rejected one, whatever their J") {
  CHECK(beats(fit_of(true, 90.0, 50.0), fit_of(false, 10.0, 1.0), false));
  CHECK_FALSE(beats(fit_of(false, 10.0, 1.0), fit_of(true, 90.0, 50.0), true));
}

TEST_CASE("of accepted fits all conditions beat some, and then the lesser J wins") {
  CHECK(beats(fit_of(true, 60.0, 9.0, 40), fit_of(true, 20.0, 1.0, 25), false));
  CHECK(beats(fit_of(true, 39.0, 9.0), fit_of(true, 40.0, 1.0), false));
}

TEST_CASE("while the sample holds every row, and of rejected fits, the likelier wins") {
  CHECK(beats(fit_of(true, 40.0, 1.0), fit_of(true, 39.0, 9.0), true));
  CHECK(beats(fit_of(false, 400.0, 1.0), fit_of(false, 39.0, 9.0), false));
}

TEST_CASE("optima are ranked by likelihood, and those in a wrong valley drop out") {
  // with 1,000 rows and 7 parameters a valley is wrong from a loss of 0.175 nats a row on
  const auto left = ranked({optimum(-1.3), optimum(-1.0), optimum(-1.174), optimum(-1.176)}, -1.0, 1000.0, 7);
  REQUIRE(left.size() == 2);
  CHECK(left[0].mean_log_likelihood == -1.0);
  CHECK(left[1].mean_log_likelihood == -1.174);
}

TEST_CASE("the same laws in another order are known, others are not") {
  const DenseMatrix second{2, 2, {1.0, 0.0, 0.0, 1.0}};
  Mixture turned{2, {0.5, 0.5}, {3.0, -1.0, 0.0, 1.0}, {0.04, 0.04}};
  const std::vector<Mixture> seen{lines(5.0, 6.0), turned};
  CHECK(is_known(lines(0.0, 3.0), seen, second));
  CHECK_FALSE(is_known(lines(0.1, 3.0), seen, second));
  CHECK_FALSE(is_known(lines(0.0, 3.0), {}, second));
}

TEST_CASE("fits within 25 of the least J, degrees of freedom taken off, are near") {
  const RefinedFit best = fit_of(true, 33.0, 1.0);
  const auto near =
      near_in_distance(best, {fit_of(true, 57.9, 1.0), fit_of(true, 58.1, 1.0), fit_of(true, 43.0, 1.0, 50)});
  REQUIRE(near.size() == 2);
  CHECK(near[0].distance == 57.9);
  CHECK(near[1].dof == 43);
}

TEST_CASE("every third row of ten is rows 0, 3, 6 and 9") {
  RowTable rows{1, {}, {}, {}};
  for (int i = 0; i < 10; ++i) rows.add({std::vector<double>{1.0}, static_cast<double>(i)});
  const RowTable thin = every(rows, 3);
  CHECK(thin.responses == std::vector<double>{0.0, 3.0, 6.0, 9.0});
}

TEST_CASE("the gain of a richer model is BIC's, and a law on a few rows gains nothing") {
  const EmFit own{lines(0.0, 1.0), -1.0, 10, true};
  EmFit richer{{2, {0.4, 0.4, 0.2}, std::vector<double>(6, 1.0), {0.04, 0.04, 0.04}}, -0.9, 10, true};
  const double rows = 500.0;  // three parameters more: two coefficients and a weight
  CHECK(bic_gain(richer, own, NoiseModel::shared, rows) ==
        doctest::Approx(2.0 * rows * 0.1 - 3.0 * std::log(rows)));
  richer.mixture.weights = {0.6, 0.39, 0.01};  // five rows; a line of two coefficients asks for six
  CHECK(bic_gain(richer, own, NoiseModel::shared, rows) == FitEvidence::not_asked);
}

TEST_CASE("noise of each law's own is counted as parameters of a richer model") {
  const EmFit own{lines(0.0, 1.0), -1.0, 10, true};
  EmFit richer = own;
  richer.mixture.noise_variances = {0.01, 0.09};
  richer.mean_log_likelihood = -0.95;
  CHECK(bic_gain(richer, own, NoiseModel::shared, 400.0) == doctest::Approx(800.0 * 0.05 - std::log(400.0)));
  richer.mixture.noise_variances = {1e-6, 0.09};  // it has shrunk onto a few rows
  CHECK(bic_gain(richer, own, NoiseModel::shared, 400.0) == FitEvidence::not_asked);
}
