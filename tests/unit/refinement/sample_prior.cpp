#include "mixstream/refinement/sample_prior.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "mixstream/likelihood/em.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/refinement/fit_conditions.hpp"
#include "support/kept.hpp"

using namespace mixstream;
using namespace experiments;

namespace {

const Setting plane{"plane", "1,u,v", 2};

}  // namespace

TEST_CASE("the prior is one scoring step from the optimum, with the outer products of the scores") {
  const Drawn drawn = draw(plane, 1000, 31);
  const Kept kept = keep(drawn);
  const Mixture optimum = fit_em(kept.sample, to_pilot(drawn.truth, drawn.layout, kept.pilot)).mixture;
  const auto prior = sample_prior(optimum, kept.sample, NoiseModel::shared);
  REQUIRE(prior);
  const std::vector<double> theta = to_parameters(optimum, NoiseModel::shared);
  std::vector<double> probabilities(2);
  std::vector<double> score(theta.size());
  std::vector<double> total(theta.size());
  std::vector<double> information(theta.size() * theta.size());
  for (std::size_t i = 0; i < kept.sample.size(); ++i) {
    row_score(optimum, kept.sample.row(i), NoiseModel::shared, probabilities, score);
    for (std::size_t a = 0; a < score.size(); ++a) {
      total[a] += score[a];
      for (std::size_t b = 0; b < score.size(); ++b) information[a * score.size() + b] += score[a] * score[b];
    }
  }
  for (std::size_t a = 0; a < theta.size(); ++a) {
    double step = 0.0;  // I (centre - theta) = sum s
    for (std::size_t b = 0; b < theta.size(); ++b) {
      const double expected = information[a * theta.size() + b];
      CHECK(prior->information(a, b) == doctest::Approx(expected).epsilon(1e-9).scale(10.0));
      step += expected * (prior->centre[b] - theta[b]);
    }
    CHECK(step == doctest::Approx(total[a]).epsilon(1e-6).scale(1.0));
  }
}

TEST_CASE("a prior decides as much as it knows") {
  const Drawn drawn = draw(plane, 20000, 33);
  const Kept kept = keep(drawn);
  const Mixture truth = to_pilot(drawn.truth, drawn.layout, kept.pilot);
  const Conditions conditions(kept.tensor, kept.sample, ConditionSet{});
  const auto alone = fit_conditions(conditions, truth, {});
  REQUIRE(alone);
  const std::size_t size = alone.value().standard_errors.size();
  SamplePrior prior{to_parameters(truth, NoiseModel::shared), alone.value().information};
  const auto scaled = [&](double factor) {
    SamplePrior result = prior;
    for (double& value : result.information.values) value *= factor;
    return result;
  };

  const SamplePrior knows_nothing = scaled(1e-9);
  const auto same = fit_conditions(conditions, truth, {.prior = &knows_nothing});
  REQUIRE(same);
  CHECK(same.value().dof == alone.value().dof);
  CHECK(same.value().distance == doctest::Approx(alone.value().distance).epsilon(1e-6));

  const SamplePrior knows_all = scaled(1e9);
  const auto kept_there = fit_conditions(conditions, alone.value().mixture, {.prior = &knows_all});
  REQUIRE(kept_there);
  CHECK(kept_there.value().dof == alone.value().dof + size);
  CHECK(law_error(truth, kept_there.value().mixture) < 1e-6);
  CHECK(kept_there.value().distance > alone.value().distance);

  const auto half = fit_conditions(conditions, alone.value().mixture, {.prior = &prior});
  REQUIRE(half);
  const double error = law_error(truth, alone.value().mixture);
  CHECK(law_error(truth, half.value().mixture) == doctest::Approx(0.5 * error).epsilon(0.3));
  const double shared_out = static_cast<double>(half.value().dof - alone.value().dof);  // of all parameters
  CHECK(shared_out == doctest::Approx(0.5 * static_cast<double>(size)).epsilon(0.26));
}
