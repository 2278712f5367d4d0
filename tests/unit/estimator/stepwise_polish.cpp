// Stepwise EM as the polish.
#include <doctest/doctest.h>

#include "mixstream/estimator.hpp"
#include "mixstream/rows/simulation.hpp"
#include "experiments/streams.hpp"

using namespace mixstream;

namespace {

EstimatorSettings settings_of(PolishKind polish) {
  EstimatorSettings settings;
  settings.state.layout = {3, 0};
  settings.state.feature_map = "1,u,v";
  settings.state.reservoir_rows = 2000;
  settings.polish.first_check = 2000;
  settings.solve.component_count = 2;
  settings.solve.polish = polish;
  return settings;
}

Simulation plane(std::uint64_t seed) {
  return Simulation({.map = FeatureMap::parse("1,u,v").value(), .component_count = 2, .seed = seed});
}

void absorb(Estimator& estimator, Simulation& rows, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    estimator.absorb(rows.next());
    if (estimator.fit_is_due()) estimator.scheduled_fit();
  }
}

Report report_of(PolishKind polish, std::uint64_t seed) {
  Estimator estimator = Estimator::create(settings_of(polish)).value();
  Simulation rows = plane(seed);
  absorb(estimator, rows, 60000);
  return estimator.fit();
}

}  // namespace

TEST_CASE("stepwise EM polishes as well as scoring, by another way") {
  double scoring = 0.0;
  double stepwise = 0.0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    const Mixture truth = plane(seed).truth();
    const Report one = report_of(PolishKind::scoring, seed);
    const Report two = report_of(PolishKind::stepwise_em, seed);
    CHECK(two.stage == FitStage::polished);
    CHECK(two.status == one.status);
    CHECK(two.mixture().coefficients != one.mixture().coefficients);
    CHECK(two.components[0].coefficient_errors == one.components[0].coefficient_errors);
    const double error_one = experiments::law_error(truth, one.mixture());
    const double error_two = experiments::law_error(truth, two.mixture());
    scoring += error_one * error_one;
    stepwise += error_two * error_two;
  }
  CHECK(stepwise < 1.3 * scoring);
}

TEST_CASE("a stored path of stepwise EM goes on bit for bit") {
  Estimator whole = Estimator::create(settings_of(PolishKind::stepwise_em)).value();
  Simulation rows = plane(3);
  absorb(whole, rows, 7777);  // inside a block
  Estimator resumed = Estimator::decode(whole.encode(), settings_of(PolishKind::stepwise_em)).value();
  CHECK(resumed.encode() == whole.encode());
  Simulation again = rows;
  absorb(whole, rows, 9000);
  absorb(resumed, again, 9000);
  CHECK(resumed.encode() == whole.encode());
}

TEST_CASE("stepwise EM is refused with a memory that fades") {
  EstimatorSettings settings = settings_of(PolishKind::stepwise_em);
  settings.state.memory = {.kind = Memory::Kind::half_life_rows, .length = 1000.0};
  CHECK_FALSE(Estimator::create(settings));
}
