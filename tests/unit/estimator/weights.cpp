// One meaning of a weight: a weight of 2 is two rows, in every number that a report holds but the row counts.
#include <doctest/doctest.h>

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
  settings.solve.component_count = 2;
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
      CHECK(scaled.moment_test->value == doctest::Approx(c * once.moment_test->value).epsilon(0.05));
      for (std::size_t h = 0; h < 2; ++h)
        for (std::size_t j = 0; j < 3; ++j)
          CHECK(scaled.components[h].coefficients[j] ==
                doctest::Approx(once.components[h].coefficients[j]).epsilon(0.02));
    }
  }
}

TEST_CASE("the paper's penalties count rows by their weights, too") {
  const Case paper{20000, PolishKind::off, FitMethod::paper};
  const Report once = report_of(paper, 1, 1.0);
  const Report scaled = report_of(paper, 1, 4.0);
  CHECK(scaled.spectral->second->penalty == doctest::Approx(once.spectral->second->penalty / 2.0));
}
