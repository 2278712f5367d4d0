// One law is least squares of all rows, with its own errors; heavy tails end in the likelihood's laws.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "mixstream/likelihood/em.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/rows/simulation.hpp"
#include "mixstream/solving/solve.hpp"

using namespace mixstream;

namespace {

constexpr std::size_t d = 3;

struct Squares {
  double law[d] = {};
  double errors[d] = {};
  double variance = 0.0;
  double variance_error = 0.0;
};

/// Least squares by Gauss and Jordan, on their own weights; `rows`: how many they count for.
Squares least_squares_of(const RowTable& table, const std::vector<double>& weights, double rows) {
  double sums[d][2 * d + 1] = {};  // second moments, the response, then the inverse
  double total = 0.0;
  for (std::size_t t = 0; t < table.size(); ++t) {
    const Row row = table.row(t);
    total += weights[t];
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < d; ++j) sums[i][j] += weights[t] * row.features[i] * row.features[j];
      sums[i][d] += weights[t] * row.features[i] * row.response;
    }
  }
  for (std::size_t i = 0; i < d; ++i) sums[i][d + 1 + i] = 1.0;
  for (std::size_t i = 0; i < d; ++i) {
    const double pivot = sums[i][i];
    for (double& value : sums[i]) value /= pivot;
    for (std::size_t r = 0; r < d; ++r) {
      const double factor = sums[r][i];
      for (std::size_t j = 0; r != i && j < 2 * d + 1; ++j) sums[r][j] -= factor * sums[i][j];
    }
  }
  Squares result;
  for (std::size_t i = 0; i < d; ++i) result.law[i] = sums[i][d];
  double square = 0.0, fourth = 0.0;
  for (std::size_t t = 0; t < table.size(); ++t) {
    const Row row = table.row(t);
    double residual = row.response;
    for (std::size_t j = 0; j < d; ++j) residual -= result.law[j] * row.features[j];
    square += weights[t] * residual * residual / total;
    fourth += weights[t] * std::pow(residual, 4) / total;
  }
  result.variance = square;
  result.variance_error = std::sqrt((fourth - square * square) / rows);
  for (std::size_t i = 0; i < d; ++i)
    result.errors[i] = std::sqrt(square * sums[i][d + 1 + i] * total / rows);
  return result;
}

RowTable stream_of(std::size_t laws, double freedom, std::size_t rows, std::uint64_t seed) {
  SimulationSettings stream;
  stream.map = FeatureMap::parse("1,u,v").value();
  stream.component_count = laws;
  stream.coefficients = std::vector<double>{4.0, 3.0, -1.0, -2.0, 1.0, 2.0};
  stream.coefficients->resize(laws * d);
  stream.noise_variances = {0.25};
  stream.tails = freedom;
  stream.seed = seed;
  return Simulation(stream).table(rows);
}

MomentState state_of(const RowTable& table, const Memory& memory = {}, std::size_t reservoir = 0) {
  StateSettings settings;
  settings.layout = {d, 0};
  settings.memory = memory;
  settings.reservoir_rows = reservoir;
  MomentState state = MomentState::create(settings).value();
  for (std::size_t t = 0; t < table.size(); ++t) state.absorb(table.row(t));
  return state;
}

Report report_of(const MomentState& state, std::size_t laws) {
  SolveSettings settings;
  settings.component_count = laws;
  settings.feature_names = {"1", "u", "v"};
  return solve(state, settings).report;
}

void check_least_squares(const Report& report, const Squares& squares) {
  REQUIRE(report.components.size() == 1);
  const ComponentReport& law = report.components[0];
  for (std::size_t j = 0; j < d; ++j) {
    CHECK(law.coefficients[j] == doctest::Approx(squares.law[j]).epsilon(1e-8));
    CHECK(law.coefficient_errors[j] == doctest::Approx(squares.errors[j]).epsilon(1e-6));
  }
  CHECK(law.noise_variance == doctest::Approx(squares.variance).epsilon(1e-7));
}

}  // namespace

TEST_CASE("one law of weighted rows is weighted least squares, and its errors are the formula's") {
  RowTable table = stream_of(1, 0.0, 4000, 1);
  for (std::size_t t = 0; t < table.size(); ++t) table.weights[t] = t % 3 == 0 ? 4.0 : 0.5;
  double rows = 0.0;
  for (const double weight : table.weights) rows += weight;  // a weight of 2 is two rows
  const Squares squares = least_squares_of(table, table.weights, rows);
  const Report report = report_of(state_of(table), 1);
  check_least_squares(report, squares);
  CHECK(report.components[0].noise_variance_error.value() ==
        doctest::Approx(squares.variance_error).epsilon(1e-4));
}

TEST_CASE("one law with a half-life is least squares of rows that fade") {
  const RowTable table = stream_of(1, 0.0, 6000, 2);
  const double half_life = 800.0;
  std::vector<double> weights(table.size());
  double total = 0.0, fading = 0.0;
  for (std::size_t t = 0; t < table.size(); ++t) {
    weights[t] = std::exp2(-static_cast<double>(table.size() - 1 - t) / half_life);
    total += weights[t];
    fading += weights[t] * weights[t];
  }
  const Report report = report_of(state_of(table, {Memory::Kind::half_life_rows, half_life}), 1);
  CHECK(report.effective_rows == doctest::Approx(total * total / fading).epsilon(1e-6));
  check_least_squares(report, least_squares_of(table, weights, total * total / fading));
}

TEST_CASE("four streams of t noise with four degrees of freedom: least squares, within its own errors") {
  for (const std::uint64_t seed : {3, 4, 5, 6}) {
    CAPTURE(seed);
    const RowTable table = stream_of(1, 4.0, 20000, seed);
    const Squares squares = least_squares_of(table, std::vector<double>(table.size(), 1.0), 20000.0);
    const Report report = report_of(state_of(table), 1);
    check_least_squares(report, squares);
    const double truth[] = {4.0, 3.0, -1.0};
    for (std::size_t j = 0; j < d; ++j)
      CHECK(std::abs(report.components[0].coefficients[j] - truth[j]) < 4.5 * squares.errors[j]);
  }
}

TEST_CASE("heavy tails end in the likelihood's laws, and no law collapses onto a few rows") {
  for (const std::uint64_t seed : {7, 8, 9}) {
    CAPTURE(seed);
    const RowTable table = stream_of(2, 2.1, 20000, seed);
    const MomentState state = state_of(table);
    const Report report = report_of(state, 2);
    REQUIRE(report.components.size() == 2);
    CHECK(report.status != FitStatus::ok);
    for (const ComponentReport& law : report.components) {
      CHECK(law.weight > 0.2);
      CHECK(law.noise_variance > 0.01);
    }
    const RowTable sample = state.sample().rows;
    const double shown = mean_log_likelihood(report.mixture(), sample);
    const EmFit em = fit_em(sample, report.mixture(), {});
    CHECK(shown > em.mean_log_likelihood - 0.01);  // near an optimum of the sample's likelihood
  }
}
