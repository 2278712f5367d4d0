// Sums of scores over stretches of rows, held against their F: calibrated for a right model, far out where
// the noise remembers and the model does not.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "mixstream/core/random.hpp"
#include "mixstream/likelihood/chi_square.hpp"
#include "mixstream/modes/mode_polish.hpp"
#include "mixstream/solving/solve_modes.hpp"

using namespace mixstream;

namespace {

constexpr int streams = 300;
constexpr unsigned rows_of_stream = 8000;

/// What a stream of two lasting laws says whose noise keeps this share of itself from row to row.
ModeFit fit_of(std::uint64_t seed, double memory) {
  const ModeShape shape{2, 2, Modes::persistent, {}, NoiseModel::shared, {}};
  Mixture laws = empty_mixture(2, 2);
  laws.weights = {0.5, 0.5};
  laws.coefficients = {1.0, 2.0, -1.0, 0.5};
  laws.noise_variances = {0.09, 0.09};
  ModePolish polish(model_from(laws, shape, 0.96), shape,
                    {.first_move = 1000, .move_every = 12500, .most_chains = 1});
  Random random(seed);
  std::size_t mode = 0;
  double noise = 0.0;
  double wander = 0.0;
  std::vector<double> x{1.0, 0.0};
  for (unsigned t = 0; t < rows_of_stream; ++t) {
    if (random.uniform(0.0, 1.0) > 0.98) mode = 1 - mode;
    wander = 0.99 * wander + std::sqrt(1.0 - 0.99 * 0.99) * random.normal();
    x[1] = std::erf(wander / std::sqrt(2.0));
    noise = memory * noise + 0.3 * std::sqrt(1.0 - memory * memory) * random.normal();
    const auto law = laws.law(mode);
    polish.absorb({x, law[0] + law[1] * x[1] + noise}, {0, t == 0 ? 0U : 1U});
  }
  return polish.fit();
}

/// What a stream of two laws says that a steep gate over a wandering column parts, followed from a gate less
/// steep whose constant stands for part of the slope.
ModeFit fit_of_gate(std::uint64_t seed) {
  const ModeShape shape{2, 2, Modes::gated, {0, 1}, NoiseModel::shared, {}};
  ModeModel model = empty_model(shape);
  model.laws.weights = {0.5, 0.5};
  model.laws.coefficients = {4.0, 3.0, -1.0, -2.0};
  model.laws.noise_variances = {0.09, 0.09};
  model.gate(0, 0) = 4.5;
  model.gate(0, 1) = 5.0;
  ModePolish polish(model, shape, {.first_move = 1000, .move_every = 12500, .most_chains = 1});
  Random random(seed);
  double wander = 0.0;
  std::vector<double> x{1.0, 0.0};
  for (unsigned t = 0; t < rows_of_stream; ++t) {
    wander = 0.99 * wander + std::sqrt(1.0 - 0.99 * 0.99) * random.normal();
    const double place = std::erf(wander / std::sqrt(2.0));
    x[1] = place - 0.9;  // coordinates whose zero lies at one end
    const bool first = random.uniform(0.0, 1.0) < 1.0 / (1.0 + std::exp(-7.0 * place));
    polish.absorb({x, (first ? 4.0 + 3.0 * x[1] : -1.0 - 2.0 * x[1]) + 0.3 * random.normal()}, {0, 0});
  }
  return polish.fit();
}

}  // namespace

TEST_CASE("the F's limit leads back to its deviations, and to the tables") {
  for (const double dof : {20.0, 100.0, 1000.0}) {
    for (const double deviations : {-1.0, 0.0, 2.0, 4.2649})
      CHECK(deviations_of_chi_square(dof * f_at_deviations(deviations, dof), dof) ==
            doctest::Approx(deviations).epsilon(1e-9));
  }
  CHECK(f_at_deviations(2.3263, 60.0) == doctest::Approx(1.473).epsilon(2e-3));  // F(60, inf) at 0.01
  CHECK(f_at_deviations(1.6449, 30.0) == doctest::Approx(1.459).epsilon(2e-3));  // F(30, inf) at 0.05
}

TEST_CASE("batch sums of a right model lie as their F says, and none beyond the limit") {
  double sum = 0.0;
  double squares = 0.0;
  int far = 0;
  for (int stream = 0; stream < streams; ++stream) {
    const ModeFit fit = fit_of(1000 + static_cast<std::uint64_t>(stream), 0.0);
    REQUIRE(fit.dispersion_dof > 50.0);
    const double out = deviations_of_chi_square(fit.dispersion * fit.dispersion_dof, fit.dispersion_dof);
    sum += out;
    squares += out * out;
    far += std::abs(out) > 2.5758 ? 1 : 0;
    CHECK(fit.dispersion < largest_dispersion(fit));
  }
  const double mean = sum / streams;
  const double spread = std::sqrt(squares / streams - mean * mean);
  MESSAGE("mean ", mean, ", spread ", spread, ", beyond the 1 % points ", far, " of ", streams);
  // four standard deviations of what 300 normal readings show
  CHECK(std::abs(mean) < 0.23);
  CHECK(std::abs(spread - 1.0) < 0.16);
  CHECK(far <= 10);
}

TEST_CASE("noise that remembers, and a model that does not: beyond the limit") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const ModeFit fit = fit_of(seed, 0.5);
    CHECK(fit.dispersion > largest_dispersion(fit));
  }
}

TEST_CASE("a steep gate over a column that wanders, followed from far away: seldom beyond the limit") {
  int beyond = 0;
  double sum = 0.0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const ModeFit fit = fit_of_gate(seed);
    sum += fit.dispersion;
    beyond += fit.dispersion > largest_dispersion(fit) ? 1 : 0;
  }
  MESSAGE("mean ", sum / 100.0, ", beyond ", beyond, " of 100");
  CHECK(beyond <= 2);
}
