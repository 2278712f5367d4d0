#include "mixstream/solving/solve.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "mixstream/estimator.hpp"
#include "mixstream/rows/simulation.hpp"

using namespace mixstream;

namespace {

/// A state filled from a simulation; `spoil` may change each row's features and response.
template <class Spoil>
MomentState state_of(const std::string& map_text, std::size_t k, std::size_t rows, std::uint64_t seed,
                     Spoil spoil) {
  SimulationSettings stream;
  stream.map = FeatureMap::parse(map_text).value();
  stream.component_count = k;
  stream.seed = seed;
  StateSettings settings;
  settings.layout = {static_cast<int>(stream.map.feature_count()), stream.map.constant_feature()};
  settings.feature_map = stream.map.text();
  settings.response = "y";
  MomentState state = MomentState::create(settings).value();
  Simulation simulation(stream);
  for (std::size_t i = 0; i < rows; ++i) {
    const Row row = simulation.next();
    std::vector<double> x(row.features.begin(), row.features.end());
    double y = row.response;
    spoil(i, x, y);
    state.absorb({x, y});
  }
  return state;
}

MomentState state_of(const std::string& map_text, std::size_t k, std::size_t rows, std::uint64_t seed) {
  return state_of(map_text, k, rows, seed, [](std::size_t, std::vector<double>&, double&) {});
}

SolveSettings settings_of(const std::string& map_text, std::size_t k) {
  SolveSettings settings;
  settings.component_count = k;
  settings.feature_names = FeatureMap::parse(map_text).value().names();
  return settings;
}

Report report_of(const MomentState& state, const SolveSettings& settings) {
  return solve(state, settings).report;
}

void check_finite(const Report& report) {
  for (const ComponentReport& component : report.components) {
    CHECK(std::isfinite(component.weight));
    CHECK(std::isfinite(component.noise_variance));
    for (const double value : component.coefficients) CHECK(std::isfinite(value));
  }
}

}  // namespace

TEST_CASE("the paper's method refuses (1, t, t^2) and names the dependence; the default fits it") {
  const MomentState state = state_of("1,t,t^2", 2, 20000, 4);
  SolveSettings settings = settings_of("1,t,t^2", 2);
  settings.method = FitMethod::paper;
  settings.noise = NoiseModel::known;
  settings.noise_variance = 0.1;
  const Report refused = report_of(state, settings);
  CHECK(refused.status == FitStatus::not_identifiable);
  CHECK(refused.components.empty());
  CHECK(refused.words.find("1*t^2 and t*t") != std::string::npos);
  const Report fitted = report_of(state, settings_of("1,t,t^2", 2));
  CHECK(fitted.status == FitStatus::ok);
  CHECK_FALSE(fitted.identifiability.spectral);
}

TEST_CASE("too few rows, and no rows, are said and not fitted") {
  for (const std::size_t rows : {0, 5, 20}) {
    const Report report = report_of(state_of("1,u,v", 2, rows, 1), settings_of("1,u,v", 2));
    CHECK(report.status == FitStatus::too_few_rows);
    CHECK(report.components.empty());
    CHECK(report.words.find("too few") != std::string::npos);
  }
}

TEST_CASE("equal features are named") {
  const MomentState state =
      state_of("1,u,v", 2, 3000, 1, [](std::size_t, std::vector<double>& x, double&) { x[2] = x[1]; });
  const Report report = report_of(state, settings_of("1,u,v", 2));
  CHECK(report.status == FitStatus::not_identifiable);
  CHECK(report.words.find("u and v") != std::string::npos);
}

TEST_CASE("degenerate data end in words, never in NaN or a crash") {
  const auto nothing = [](std::size_t, std::vector<double>&, double&) {};
  const auto constant_y = [](std::size_t, std::vector<double>&, double& y) { y = 5.0; };
  const auto equal_x = [](std::size_t, std::vector<double>& x, double&) { x[1] = 2.0; };
  const auto exact_line = [](std::size_t, std::vector<double>& x, double& y) { y = 3.0 * x[1] - 1.0; };
  const auto two_points = [](std::size_t i, std::vector<double>& x, double&) {
    x[1] = i % 2 == 0 ? 0.0 : 1.0;
  };
  for (const FitMethod method : {FitMethod::standard, FitMethod::paper, FitMethod::em}) {
    SolveSettings settings = settings_of("1,t", 2);
    settings.method = method;
    check_finite(report_of(state_of("1,t", 2, 3000, 2, nothing), settings));
    check_finite(report_of(state_of("1,t", 2, 3000, 2, constant_y), settings));
    check_finite(report_of(state_of("1,t", 2, 3000, 2, equal_x), settings));
    check_finite(report_of(state_of("1,t", 2, 3000, 2, exact_line), settings));
    check_finite(report_of(state_of("1,t", 2, 3000, 2, two_points), settings));
  }
}

TEST_CASE("one component too few is a poor fit, and k = auto finds the right number") {
  const MomentState state = state_of("1,u,v", 3, 40000, 6);
  CHECK(report_of(state, settings_of("1,u,v", 2)).status == FitStatus::poor_fit);
  const Report chosen = report_of(state, settings_of("1,u,v", 0));
  CHECK(chosen.component_count == 3);
  CHECK(chosen.status == FitStatus::ok);
  REQUIRE(chosen.candidates.size() >= 3);
  double probabilities = 0.0;
  for (const Candidate& candidate : chosen.candidates) {
    probabilities += candidate.probability;
    CHECK((candidate.chosen || candidate.bic > chosen.candidates[2].bic));
  }
  CHECK(probabilities == doctest::Approx(1.0));
  CHECK(chosen.bic.value() == chosen.candidates[2].bic);  // one number everywhere
  CHECK(chosen.log_likelihood.value() == chosen.candidates[2].log_likelihood);
}

TEST_CASE("few gross outliers are set aside and counted; without the guard the fit says that it is ruined") {
  const auto outliers = [](std::size_t i, std::vector<double>&, double& y) {
    if (i % 1000 == 999) y = i % 2000 == 999 ? 80.0 : -60.0;
  };
  const MomentState state = state_of("1,t", 2, 50000, 9, outliers);
  const Report guarded = report_of(state, settings_of("1,t", 2));
  CHECK(guarded.status == FitStatus::ok);
  CHECK(guarded.set_aside == 50);
  SolveSettings bare = settings_of("1,t", 2);
  bare.guard = false;
  const Report ruined = report_of(state, bare);
  CHECK(ruined.status == FitStatus::poor_fit);
  CHECK(ruined.set_aside == 0);
}

TEST_CASE("labels follow the last fit") {
  const MomentState state = state_of("1,t", 2, 20000, 3);
  const Solution first = solve(state, settings_of("1,t", 2));
  const std::size_t swap[2] = {1, 0};
  const Mixture swapped = relabelled(*first.mixture, swap);
  const Solution second = solve(state, settings_of("1,t", 2), {.last = &swapped});
  CHECK(second.report.components[0].coefficients[0] ==
        doctest::Approx(first.report.components[1].coefficients[0]));
}

TEST_CASE("of laws that weigh the same the one with the larger coefficient comes first, whatever the rows") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const MomentState state =
        state_of("1,t", 2, 3000, seed, [](std::size_t i, std::vector<double>& x, double& y) {
          const double noise = 0.1 * std::sin(12.9 * static_cast<double>(i + 1) * x[1]);
          y = (i % 2 == 0 ? 1.0 + 2.0 * x[1] : 1.0 - 2.0 * x[1]) + noise;  // the slope decides
        });
    const Report report = report_of(state, settings_of("1,t", 2));
    REQUIRE(report.components.size() == 2);
    CHECK(report.components[0].coefficients[1] > 1.0);
  }
}

TEST_CASE("contradictory settings are refused by name") {
  SolveSettings settings;
  settings.component_count = 33;
  CHECK(check(settings, 2).refusal().reason == Reason::bad_settings);
  settings.component_count = 2;
  CHECK(check(settings, 33).refusal().reason == Reason::too_large);
  settings.noise_variance = 0.1;
  CHECK(check(settings, 2).refusal().reason == Reason::bad_settings);
  settings.noise = NoiseModel::known;
  CHECK(check(settings, 2));
  settings.noise_variance = -1.0;
  CHECK(check(settings, 2).refusal().reason == Reason::bad_settings);
  SolveSettings choosing;
  choosing.component_count = 0;
  choosing.method = FitMethod::paper;
  CHECK(check(choosing, 2).refusal().reason == Reason::bad_settings);
}

TEST_CASE("a polish that ends elsewhere than the moments is not called ok, however sure both are") {
  const MomentState state = state_of("1,t,t^4", 2, 200000, 57);
  const SolveSettings settings = settings_of("1,t,t^4", 2);
  const Solution solution = solve(state, settings);
  REQUIRE(solution.report.status == FitStatus::ok);
  for (const double standard_errors : {0.0, 15.0}) {
    RefinedFit start = *solution.refined;
    start.mixture.law(0)[1] += standard_errors * start.standard_errors[1];  // of beta_1
    for (std::size_t i = 0; i < start.information.rows; ++i)
      start.information(i, i) *= 1e9;  // it stays there
    PolishDriver driver;
    REQUIRE(driver.reconcile(start, solution.sample, state.row_count()) == Reconciled::started);
    const Report report = solve(state, settings, {.last = &*solution.mixture, .polish = &driver}).report;
    CAPTURE(report.words);
    CHECK(report.stage == FitStage::polished);
    CHECK((report.status == FitStatus::ok) == (standard_errors == 0.0));
  }
}
