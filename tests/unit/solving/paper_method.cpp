// The paper's method as users run it: statuses with words, three data sets, and re-solves of a growing stream
// that begin where the last one ended.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>

#include "mixstream/estimator.hpp"
#include "mixstream/estimator/feedback.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/rows/simulation.hpp"
#include "mixstream/sensor_loop.hpp"
#include "mixstream/solving/solve.hpp"
#include "mixstream/verdict/paper.hpp"

using namespace mixstream;

namespace {

SimulationSettings stream_of(const std::string& map, std::uint64_t seed) {
  SimulationSettings stream;
  stream.map = FeatureMap::parse(map).value();
  stream.component_count = 2;
  stream.seed = seed;
  return stream;
}

EstimatorSettings paper_settings(const std::string& map) {
  EstimatorSettings settings;
  settings.state.feature_map = map;
  settings.state.layout = {static_cast<int>(FeatureMap::parse(map).value().feature_count()), 0};
  settings.solve.component_count = 2;
  settings.solve.method = FitMethod::paper;
  settings.solve.noise = NoiseModel::known;
  settings.solve.noise_variance = 0.1;
  settings.solve.objective = PaperObjective::published;
  return settings;
}

int iterations_of(const Report& report) {
  return report.spectral->second->iterations + report.spectral->third->iterations;
}

void absorb(Estimator& estimator, Simulation& simulation, int rows) {
  for (int i = 0; i < rows; ++i) estimator.absorb(simulation.next());
}

}  // namespace

TEST_CASE("every warning that matters makes the paper's status other than ok, with words") {
  SpectralFit fit;
  CHECK(paper_verdict(fit).status == FitStatus::ok);
  for (const SpectralWarning warning : {SpectralWarning::not_converged, SpectralWarning::singular_regression,
                                        SpectralWarning::clamped_weight, SpectralWarning::clamped_eigenvalue,
                                        SpectralWarning::lost_component, SpectralWarning::noise_at_bound}) {
    CAPTURE(name_of(warning));
    fit.warnings = {warning};
    const PaperVerdict verdict = paper_verdict(fit);
    CHECK(verdict.status != FitStatus::ok);
    CHECK(verdict.words.starts_with("do not trust these laws: "));
    CHECK(verdict.words.size() > 60);
  }
  fit.warnings = {SpectralWarning::clamped_weight, SpectralWarning::singular_regression};
  CHECK(paper_verdict(fit).status == FitStatus::not_identifiable);
  CHECK(paper_verdict(fit).words.find("a weight came out below") != std::string::npos);
}

TEST_CASE("a singular map is answered where that is allowed, and not called ok") {
  EstimatorSettings settings = paper_settings("1,t,t^4,t^7");
  settings.solve.allow_singular = true;
  Estimator estimator = Estimator::create(settings).value();
  Simulation simulation(stream_of("1,t,t^4,t^7", 3));
  absorb(estimator, simulation, 5000);
  const Report report = estimator.fit();
  CHECK(report.components.size() == 2);
  CHECK(report.status == FitStatus::not_identifiable);
  CHECK(report.words.find("linearly dependent") != std::string::npos);
}

TEST_CASE("three data sets hold every third row each, survive snapshot and merge, and are what is solved") {
  EstimatorSettings settings = paper_settings("1,t,t^4");
  settings.state.memory.kind = Memory::Kind::three_parts;
  settings.state.pilot_rows = 10;
  Estimator estimator = Estimator::create(settings).value();
  std::array<Estimator, 3> apart{Estimator::create(paper_settings("1,t,t^4")).value(),
                                 Estimator::create(paper_settings("1,t,t^4")).value(),
                                 Estimator::create(paper_settings("1,t,t^4")).value()};
  Simulation simulation(stream_of("1,t,t^4", 4));
  for (std::size_t i = 0; i < 9000; ++i) {
    const Row row = simulation.next();
    estimator.absorb(row);
    apart[i % 3].absorb(row);
  }
  const Estimator again = Estimator::decode(estimator.encode(), settings).value();
  CHECK(again.state() == estimator.state());
  for (std::size_t part = 0; part < 3; ++part) {
    const MomentTensor of_part = again.state().part_moments(part).in_raw_coordinates();
    const MomentTensor alone = apart[part].state().moments().in_raw_coordinates();
    CHECK(of_part.total_weight() == 3000.0);
    for (std::size_t i = 0; i < alone.sums().size(); ++i)
      CHECK(of_part.sums()[i] == doctest::Approx(alone.sums()[i]).epsilon(1e-9).scale(3000.0));
  }
  CHECK(again.state().moments().total_weight() == 9000.0);
  const Report report = estimator.fit();
  REQUIRE(report.spectral);
  CHECK(report.spectral->second->penalty == doctest::Approx(1e-5 / std::sqrt(3000.0)));
  Estimator merged = estimator;
  REQUIRE(merged.merge(again));
  CHECK(merged.state().part_moments(1).total_weight() == 6000.0);
}

TEST_CASE("theory's lambda is what the diagnosis of the default method asks") {
  EstimatorSettings settings = paper_settings("1,t,t^4");
  settings.solve.objective = PaperObjective::printed;
  settings.solve.penalty = PaperPenalty::theory;
  Estimator estimator = Estimator::create(settings).value();
  Simulation simulation(stream_of("1,t,t^4", 6));
  absorb(estimator, simulation, 20000);
  SolveSettings standard = settings.solve;
  standard.method = FitMethod::standard;
  const Report asked = estimator.fit(standard);
  const Report report = estimator.fit();
  REQUIRE(report.spectral);
  CHECK(report.spectral->second->penalty ==
        doctest::Approx(*asked.identifiability.powers[1].penalty_asked).epsilon(1e-6));
  CHECK(report.spectral->third->penalty ==
        doctest::Approx(*asked.identifiability.powers[2].penalty_asked).epsilon(1e-6));
}

TEST_CASE("the sensor loop re-solves the regressions of a growing stream a hundred times, warm") {
  LoopSettings settings;
  settings.estimator = paper_settings("1,u,v,u^2*v^2");
  settings.policy.every_rows = 2000;
  SensorLoop loop = SensorLoop::create(settings).value();
  Simulation simulation(stream_of("1,u,v,u^2*v^2", 7));
  int solves = 0;
  int warm = 0;
  int cold = 0;
  while (solves < 100) {
    loop.absorb(simulation.next());
    const std::optional<Report> report = loop.refit();
    if (!report) continue;
    REQUIRE(report->spectral);
    CHECK(report->spectral->second->converged);
    CHECK(report->spectral->third->converged);
    CHECK(report->spectral->third->primal_residual < 1e-8);
    warm += iterations_of(*report);
    cold += iterations_of(solve(loop.total().state(), settings.estimator.solve, {}, SolveDetail::fit).report);
    ++solves;
  }
  MESSAGE("iterations of 100 solves: cold ", cold, ", warm ", warm);
  CHECK(warm < 0.9 * cold);
  const Estimator whole = loop.whole();
  const Estimator resumed = Estimator::decode(whole.encode(), settings.estimator).value();
  CHECK(resumed.encode() == whole.encode());
  CHECK(resumed.fit().spectral->third->iterations == whole.fit().spectral->third->iterations);
}

TEST_CASE("a fit made apart gives its start back, and bytes keep it") {
  EstimatorSettings settings = paper_settings("1,t,t^4");
  Estimator estimator = Estimator::create(settings).value();
  Simulation simulation(stream_of("1,t,t^4", 8));
  absorb(estimator, simulation, 5000);
  Estimator copy = estimator;
  const ScheduledFit cold = copy.fit_apart();
  const FitFeedback stored = FitFeedback::decode(cold.feedback.encode()).value();
  CHECK(stored == cold.feedback);
  REQUIRE(stored.paper);
  REQUIRE(estimator.take(stored));
  CHECK(estimator.fit().spectral->third->iterations < cold.report.spectral->third->iterations);
}
