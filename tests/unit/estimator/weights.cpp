// One meaning of a weight: a weight of 2 is two rows, in every number that a report holds but the row counts.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "mixstream/estimator.hpp"
#include "mixstream/rows/simulation.hpp"
#include "mixstream/tensor/spectral.hpp"

using namespace mixstream;

namespace {

struct Case {
  std::size_t rows;
  PolishKind polish;
  FitMethod method = FitMethod::standard;
  std::size_t laws = 2;  ///< 0: auto
  NoiseModel noise = NoiseModel::shared;
  double curve = 0.0;     ///< t^2 in every law, which the fit lacks
  bool persists = false;  ///< laws last, and the fit knows it
  ModelChoice choice;
};

/// A stream of the same rows: each one `copies` times, with this weight.
Report report_of(const Case& test, std::size_t copies, double weight) {
  SimulationSettings stream;
  stream.map = FeatureMap::parse("1,t,t^4").value();
  stream.component_count = 2;
  stream.coefficients = {1.0, 2.0, -1.0, -1.0, 0.5, 1.0};
  stream.seed = 5;
  EstimatorSettings settings;
  settings.state.layout = {3, 0};
  settings.state.feature_map = "1,t,t^4";
  settings.solve.component_count = test.laws;
  settings.solve.largest_component_count = 4;
  settings.solve.noise = test.noise;
  settings.solve.choice = test.choice;
  settings.solve.feature_names = {"1", "t", "t^4"};
  if (test.persists) stream.stay = 0.95;
  if (test.persists) settings.solve.modes = Modes::persistent;
  settings.solve.polish = test.polish;
  settings.solve.method = test.method;
  if (test.method == FitMethod::paper) {
    settings.solve.noise = NoiseModel::known;
    settings.solve.noise_variance = 0.1;
  }
  Estimator estimator = Estimator::create(settings).value();
  Simulation simulation(stream);
  for (std::size_t i = 0; i < test.rows; ++i) {
    Row row = simulation.next();
    row.response += test.curve * row.features[1] * row.features[1];
    row.weight = weight;
    for (std::size_t copy = 0; copy < copies; ++copy) {
      estimator.absorb(row);
      if (estimator.fit_is_due()) estimator.scheduled_fit();
    }
  }
  return estimator.fit();
}

double rms_error(const Report& report) {
  double squares = 0.0;
  for (const ComponentReport& component : report.components)
    for (const double error : component.coefficient_errors) squares += error * error;
  return std::sqrt(squares);
}

double weight_error(const Report& report) {
  return report.components.at(0).weight_error.value();
}

double variance_error(const Report& report) {
  return report.components.at(0).noise_variance_error.value();
}

const Doubt& doubt_of(const Report& report, DoubtKind kind) {
  const auto found = std::ranges::find(report.doubts, kind, &Doubt::kind);
  REQUIRE(found != report.doubts.end());
  return *found;
}

constexpr DoubtKind of_single_rows[] = {DoubtKind::missing_term, DoubtKind::unequal_noise, DoubtKind::tails,
                                        DoubtKind::skewed_noise, DoubtKind::growing_noise};

}  // namespace

TEST_CASE("while the sample holds every row a weight of 2 is the row twice, to rounding") {
  const Case few{1500, PolishKind::scoring};
  const Report weighted = report_of(few, 1, 2.0);
  const Report doubled = report_of(few, 2, 1.0);
  REQUIRE(weighted.components.size() == 2);
  REQUIRE(doubled.components.size() == 2);
  CHECK(weighted.rows == 1500);
  CHECK(weighted.effective_rows == doctest::Approx(3000.0).epsilon(1e-12));
  CHECK(doubled.effective_rows == doctest::Approx(3000.0).epsilon(1e-12));
  CHECK(weighted.status == doubled.status);
  CHECK(rms_error(weighted) == doctest::Approx(rms_error(doubled)).epsilon(1e-3));
  CHECK(weight_error(weighted) == doctest::Approx(weight_error(doubled)).epsilon(1e-3));
  CHECK(weighted.moment_test->value == doctest::Approx(doubled.moment_test->value).epsilon(2e-2));
  CHECK(*weighted.bic == doctest::Approx(*doubled.bic).epsilon(1e-6));
}

TEST_CASE(
    "weights that are all c multiply the rows by c: errors, J and effective rows, with a polish or not") {
  for (const Case& test : {Case{1500, PolishKind::scoring}, Case{20000, PolishKind::off},
                           Case{20000, PolishKind::scoring}, Case{20000, PolishKind::stepwise_em}}) {
    CAPTURE(test.rows);
    CAPTURE(static_cast<int>(test.polish));
    const Report once = report_of(test, 1, 1.0);
    REQUIRE(once.components.size() == 2);
    for (const double c : {0.25, 4.0}) {
      CAPTURE(c);
      const Report scaled = report_of(test, 1, c);
      REQUIRE(scaled.components.size() == 2);
      CHECK(scaled.rows == once.rows);
      CHECK(scaled.effective_rows == doctest::Approx(c * once.effective_rows).epsilon(1e-12));
      CHECK(rms_error(scaled) == doctest::Approx(rms_error(once) / std::sqrt(c)).epsilon(0.05));
      CHECK(weight_error(scaled) == doctest::Approx(weight_error(once) / std::sqrt(c)).epsilon(0.05));
      CHECK(variance_error(scaled) == doctest::Approx(variance_error(once) / std::sqrt(c)).epsilon(0.05));
      CHECK(scaled.moment_test->value == doctest::Approx(c * once.moment_test->value).epsilon(0.05));
      for (std::size_t h = 0; h < 2; ++h)
        for (std::size_t j = 0; j < 3; ++j)
          CHECK(scaled.components[h].coefficients[j] ==
                doctest::Approx(once.components[h].coefficients[j]).epsilon(0.02));
    }
  }
}

TEST_CASE("doubts of rows that are drawn from the stream are those of as many rows, whatever these weigh") {
  const Report once = report_of({20000, PolishKind::scoring}, 1, 1.0);
  const Report scaled = report_of({20000, PolishKind::scoring}, 1, 4.0);
  for (const DoubtKind kind : of_single_rows) {
    CAPTURE(std::string(name_of(kind)));
    const Doubt& one = doubt_of(once, kind);
    const Doubt& other = doubt_of(scaled, kind);
    CHECK(other.statistic == doctest::Approx(one.statistic).epsilon(0.1).scale(0.5));
    CHECK(other.shift == doctest::Approx(one.shift).epsilon(0.1).scale(0.02));
    CHECK(other.prediction == doctest::Approx(one.prediction).epsilon(0.1).scale(0.02));
  }
  // but the errors are those of all rows
  const Doubt& one = doubt_of(once, DoubtKind::missing_term);
  const Doubt& other = doubt_of(scaled, DoubtKind::missing_term);
  CHECK(other.shift_in_errors == doctest::Approx(2.0 * one.shift_in_errors).epsilon(0.1));
}

TEST_CASE("a missing term of 1,500 rows is certain where each of them is four") {
  const Case test{1500, PolishKind::scoring, FitMethod::standard, 2, NoiseModel::shared, 0.4};
  const Report once = report_of(test, 1, 1.0);
  const Report scaled = report_of(test, 1, 4.0);
  const Doubt& one = doubt_of(once, DoubtKind::missing_term);
  const Doubt& other = doubt_of(scaled, DoubtKind::missing_term);
  CAPTURE(one.p);
  CAPTURE(other.p);
  CHECK(other.p < one.p * one.p);
  CHECK(other.raised);
}

TEST_CASE("what the misfit leaves open is that of twice the rows") {
  const Case few{1500, PolishKind::scoring};
  const Report weighted = report_of(few, 1, 2.0);
  const Report doubled = report_of(few, 2, 1.0);
  CHECK(weighted.misfit.open == doctest::Approx(doubled.misfit.open).epsilon(0.05));
  CHECK(weighted.misfit.open < 0.9 * report_of(few, 1, 1.0).misfit.open);
}

TEST_CASE("noise of each law's own: errors by weights, too") {
  const Case test{1500, PolishKind::scoring, FitMethod::standard, 2, NoiseModel::per_component};
  const Report once = report_of(test, 1, 1.0);
  const Report scaled = report_of(test, 1, 4.0);
  for (std::size_t h = 0; h < 2; ++h)
    CHECK(scaled.components[h].noise_variance_error.value() ==
          doctest::Approx(once.components[h].noise_variance_error.value() / 2.0).epsilon(0.01));
}

TEST_CASE("the table of k = auto is that of the rows twice") {
  for (const ModelChoice choice : {ModelChoice{}, ModelChoice{false, true}}) {
    CAPTURE(choice.noise);
    const Case test{1000,  PolishKind::scoring, FitMethod::standard, 0, NoiseModel::shared, 0.0, false,
                    choice};
    const Report once = report_of(test, 1, 1.0);
    const Report weighted = report_of(test, 1, 2.0);
    REQUIRE(once.candidates.size() >= 2);
    REQUIRE(weighted.candidates.size() >= 2);
    CHECK(weighted.component_count == 2);
    for (std::size_t i = 0; i < 2; ++i) {
      const auto& candidate = weighted.candidates[i];
      CHECK(candidate.log_likelihood == doctest::Approx(once.candidates[i].log_likelihood).epsilon(1e-3));
      const double penalty = candidate.bic + 2.0 * candidate.log_likelihood;
      const double before = once.candidates[i].bic + 2.0 * once.candidates[i].log_likelihood;
      CHECK(penalty == doctest::Approx(before * std::log(2000.0) / std::log(1000.0) / 2.0).epsilon(0.01));
    }
  }
}

TEST_CASE("laws that last: likelihood a row stays, errors shrink by the root of the weight") {
  for (const std::size_t rows : {4000, 20000}) {
    CAPTURE(rows);
    const Case test{rows, PolishKind::scoring, FitMethod::standard, 2, NoiseModel::shared, 0.0, true};
    const Report once = report_of(test, 1, 1.0);
    const Report scaled = report_of(test, 1, 4.0);
    REQUIRE(once.modes);
    REQUIRE(scaled.modes);
    CHECK(rms_error(scaled) == doctest::Approx(rms_error(once) / 2.0).epsilon(0.05));
    CHECK(variance_error(scaled) == doctest::Approx(variance_error(once) / 2.0).epsilon(0.05));
    CHECK(scaled.modes->dwells[0] == doctest::Approx(once.modes->dwells[0]).epsilon(0.05));
    CHECK(*scaled.log_likelihood == doctest::Approx(*once.log_likelihood).epsilon(0.01));
    CHECK(*scaled.bic < *once.bic);
  }
}

TEST_CASE("the paper's penalties count rows by their weights, too") {
  const Case paper{20000, PolishKind::off, FitMethod::paper};
  const Report once = report_of(paper, 1, 1.0);
  const Report scaled = report_of(paper, 1, 4.0);
  CHECK(scaled.spectral->second->penalty == doctest::Approx(once.spectral->second->penalty / 2.0));
}
