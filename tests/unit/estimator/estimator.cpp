#include "mixstream/estimator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "mixstream/likelihood/em.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/report/json.hpp"
#include "mixstream/rows/pilot.hpp"
#include "mixstream/rows/simulation.hpp"
#include "support/allocation_count.hpp"

using namespace mixstream;

namespace {

EstimatorSettings settings_for(const std::string& map_text, std::size_t k) {
  const FeatureMap map = FeatureMap::parse(map_text).value();
  EstimatorSettings settings;
  settings.state.layout = {static_cast<int>(map.feature_count()), map.constant_feature()};
  settings.state.feature_map = map.text();
  settings.state.response = "y";
  settings.state.reservoir_rows = 2000;
  settings.polish.first_check = 2000;
  settings.solve.component_count = k;
  settings.solve.feature_names = map.names();
  return settings;
}

SimulationSettings stream_of(const std::string& map_text, std::size_t k, std::uint64_t seed) {
  SimulationSettings stream;
  stream.map = FeatureMap::parse(map_text).value();
  stream.component_count = k;
  stream.seed = seed;
  return stream;
}

void absorb(Estimator& estimator, Simulation& simulation, std::size_t rows) {
  for (std::size_t i = 0; i < rows; ++i) {
    estimator.absorb(simulation.next());
    if (estimator.fit_is_due()) estimator.scheduled_fit();
  }
}

/// Largest coefficient error in standard errors, labels matched by hand: two laws only.
double largest_deviation(const Report& report, const Mixture& truth) {
  double least = 1e300;
  for (const bool swapped : {false, true}) {
    double worst = 0.0;
    for (std::size_t h = 0; h < 2; ++h) {
      const ComponentReport& component = report.components[swapped ? 1 - h : h];
      for (std::size_t f = 0; f < truth.feature_count; ++f) {
        worst = std::max(
            worst, std::abs(component.coefficients[f] - truth.law(h)[f]) / component.coefficient_errors[f]);
      }
    }
    least = std::min(least, worst);
  }
  return least;
}

/// The JSON without its times.
std::string timeless(Report report) {
  report.ingest_seconds = report.solve_seconds = 0.0;
  return to_json(report);
}

}  // namespace

TEST_CASE("a model with many parameters keeps a larger sample, unless another is asked for") {
  const auto sample_of = [](const std::string& map, std::size_t k, std::size_t asked) {
    EstimatorSettings settings = settings_for(map, k);
    settings.state.reservoir_rows = asked;
    return Estimator::create(settings).value().state().settings().reservoir_rows;
  };
  const std::string eight = "1,a,b,c,d,e,f,g";
  CHECK(sample_of("1,t", 2, 0) == 5000);
  CHECK(sample_of(eight + ",h,i,j,l,m,n", 2, 0) == 5000);  // two laws have few optima
  CHECK(sample_of("1,t,t^2", 6, 0) == 5000);               // 24 parameters
  CHECK(sample_of(eight, 3, 0) == 10000);                  // 27
  CHECK(sample_of(eight, 5, 0) == 5000 * 2);               // 45
  CHECK(sample_of(eight, 7, 0) == 20000);                  // 63
  CHECK(sample_of(eight, 7, 300) == 300);
  CHECK(sample_of(eight, 0, 0) == 5000);  // k = auto
}

TEST_CASE(
    "while a crowded model's sample is the stream, its fit is the likeliest, and its polish begins there") {
  const std::string map = "1,u,v,u*v^3,u^2*v^2,u^3*v";
  for (const std::uint64_t seed : {5U, 8U}) {  // where the moments of so few rows lead to other laws
    CAPTURE(seed);
    EstimatorSettings settings = settings_for(map, 5);
    settings.polish.first_check = 500;
    Estimator estimator = Estimator::create(settings).value();
    Simulation simulation(stream_of(map, 5, seed));
    const RowTable rows = simulation.table(2000);
    const auto nats_below = [&](const Report& report) {  // the fit that EM from the truth ends in
      return 2000.0 * (fit_em(rows, simulation.truth()).mean_log_likelihood -
                       mean_log_likelihood(report.mixture(), rows));
    };
    for (std::size_t i = 0; i < rows.size(); ++i) {
      estimator.absorb(rows.row(i));
      if (!estimator.fit_is_due()) continue;
      const Report report = estimator.scheduled_fit();
      if (i + 1 == rows.size()) CHECK(nats_below(report) < 0.5);
    }
    CHECK(nats_below(estimator.fit()) < 0.5);
  }
}

TEST_CASE("the laws of a simulated stream are found within their standard errors") {
  for (const std::uint64_t seed : {11, 12, 13}) {
    Simulation simulation(stream_of("1,u,v", 2, seed));
    Estimator estimator = Estimator::create(settings_for("1,u,v", 2)).value();
    absorb(estimator, simulation, 20000);
    const Report report = estimator.fit();
    CHECK(report.status == FitStatus::ok);
    CHECK(report.stage == FitStage::polished);
    CHECK(largest_deviation(report, simulation.truth()) < 4.5);
    CHECK(report.components[0].noise_variance == doctest::Approx(0.1).epsilon(0.1));
  }
}

TEST_CASE("a saved and resumed estimator equals one that never stopped, bit for bit") {
  for (const std::size_t cut : {100, 1999, 2000, 4321, 9999}) {
    Simulation first(stream_of("1,t", 2, 5));
    Simulation second(stream_of("1,t", 2, 5));
    EstimatorSettings settings = settings_for("1,t", 2);
    settings.every = 3000;
    Estimator whole = Estimator::create(settings).value();
    absorb(whole, first, 10000);
    Estimator part = Estimator::create(settings).value();
    absorb(part, second, cut);
    part.count_refused("ragged");
    whole.count_refused("ragged");
    (void)part.fit();  // a closing fit leaves no trace
    Estimator resumed = Estimator::decode(part.encode(), settings).value();
    absorb(resumed, second, 10000 - cut);
    CHECK(timeless(resumed.fit()) == timeless(whole.fit()));
    CHECK(resumed.encode() == whole.encode());
  }
}

TEST_CASE("merged estimators know what one estimator of all rows knows") {
  EstimatorSettings settings = settings_for("1,t", 2);
  Simulation simulation(stream_of("1,t", 2, 8));
  Simulation again(stream_of("1,t", 2, 8));
  Estimator whole = Estimator::create(settings).value();
  absorb(whole, simulation, 12000);
  const Pilot pilot = whole.state().fixed_pilot();
  Estimator left = Estimator::create(settings).value();
  Estimator right = Estimator::create(settings).value();
  REQUIRE(left.take_pilot(pilot));
  REQUIRE(right.take_pilot(pilot));
  right.go_on_at({0, 1});
  absorb(left, again, 6000);
  absorb(right, again, 6000);
  REQUIRE(left.merge(right));
  const Report merged = left.fit();
  const Report single = whole.fit();
  CHECK(merged.rows == 12000);
  CHECK(merged.stage == FitStage::polished);
  for (std::size_t f = 0; f < 2; ++f) {
    CHECK(std::abs(merged.components[0].coefficients[f] - single.components[0].coefficients[f]) <
          0.5 * single.components[0].coefficient_errors[f]);
  }
}

TEST_CASE("different features, or a window, are not merged as one stream") {
  Estimator one = Estimator::create(settings_for("1,t", 2)).value();
  const Estimator two = Estimator::create(settings_for("1,u", 2)).value();
  CHECK(one.merge(two).refusal().reason == Reason::cannot_merge);
}

TEST_CASE("absorbing allocates nothing, polish and drift included") {
  Simulation simulation(stream_of("1,t", 2, 3));
  Estimator estimator = Estimator::create(settings_for("1,t", 2)).value();
  absorb(estimator, simulation, 2500);
  const auto before = allocation_count();
  for (int i = 0; i < 1400; ++i) estimator.absorb(simulation.next());
  CHECK(allocation_count() == before);
}

TEST_CASE("with a half-life the fit follows a change of laws, and the change is reported") {
  EstimatorSettings settings = settings_for("1,t", 2);
  settings.state.memory = {Memory::Kind::half_life_rows, 4000.0};
  SimulationSettings stream = stream_of("1,t", 2, 21);
  stream.coefficients = {1.0, 2.0, -1.0, 0.5};
  Simulation simulation(stream);
  Estimator estimator = Estimator::create(settings).value();
  absorb(estimator, simulation, 60000);
  CHECK(estimator.drift().empty());
  Mixture changed = simulation.truth();
  changed.coefficients = {3.0, -2.0, 0.0, 0.5};
  simulation.set_truth(changed);
  absorb(estimator, simulation, 60000);
  CHECK_FALSE(estimator.drift().empty());
  const Report report = estimator.fit();
  CHECK(largest_deviation(report, changed) < 6.0);
}

TEST_CASE("a window forgets what lies before it") {
  EstimatorSettings settings = settings_for("1,t", 2);
  settings.state.memory = {Memory::Kind::window_rows, 16000.0, 8};
  SimulationSettings stream = stream_of("1,t", 2, 22);
  stream.coefficients = {1.0, 2.0, -1.0, 0.5};
  Simulation simulation(stream);
  Estimator estimator = Estimator::create(settings).value();
  absorb(estimator, simulation, 20000);
  Mixture changed = simulation.truth();
  changed.coefficients = {3.0, -2.0, 0.0, 0.5};
  simulation.set_truth(changed);
  absorb(estimator, simulation, 20000);
  const Report report = estimator.fit();
  CHECK(report.effective_rows <= 16000.0);
  CHECK(report.status == FitStatus::ok);
  CHECK(largest_deviation(report, changed) < 4.5);
}
