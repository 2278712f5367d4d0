#include "mixstream/likelihood/law_swaps.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "mixstream/likelihood/common_law.hpp"
#include "mixstream/likelihood/em_search.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/likelihood/matching.hpp"
#include "mixstream/rows/simulation.hpp"

using namespace mixstream;

namespace {

constexpr double no_end = std::numeric_limits<double>::infinity();

Simulation five_laws(std::uint64_t seed) {
  return Simulation(
      {.map = FeatureMap::parse("1,u,v,u*v^3,u^2*v^2,u^3*v").value(), .component_count = 5, .seed = seed});
}

SwapSettings hundred_iterations() {
  return {.em = {.max_iterations = 100, .stop_below_gain = 1e-7, .extrapolated = true}};
}

}  // namespace

TEST_CASE("swaps lead from wrong optima of five laws to the likeliest one, where starts of EM rarely do") {
  int by_start = 0;
  int by_swaps = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Simulation simulation = five_laws(seed);
    const RowTable table = simulation.table(5000);
    const RowBlocks rows(table);
    const double likeliest = fit_em(rows, simulation.truth()).mean_log_likelihood;
    const auto right = [&](const EmFit& fit) { return fit.mean_log_likelihood > likeliest - 2e-4; };
    Random random(seed);
    const EmFit first = fit_em(rows, random_em_start(rows, 5, random));
    const EmFit last = LawSwaps(rows, hundred_iterations(), random).improved(first, 30, no_end);
    CHECK(last.mean_log_likelihood >= first.mean_log_likelihood);
    CHECK(last.mean_log_likelihood == doctest::Approx(mean_log_likelihood(last.mixture, table)));
    by_start += right(first) ? 1 : 0;
    by_swaps += right(last) ? 1 : 0;
  }
  CHECK(by_start <= 2);
  CHECK(by_swaps == 6);
}

TEST_CASE("the length of a direction is the root of its quadratic form") {
  const double g[3][3] = {{4.0, 1.0, -0.5}, {1.0, 3.0, 0.25}, {-0.5, 0.25, 2.0}};
  const CommonLaw common{.law = {},
                         .noise_variance = 1.0,
                         .second = {g[0][0], g[1][0], g[1][1], g[2][0], g[2][1], g[2][2]},
                         .factor = PivotedCholesky(3)};
  const std::vector<double> v{0.5, -2.0, 1.5};
  double form = 0.0;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) form += v[i] * g[i][j] * v[j];
  }
  CHECK(common.length(v) == doctest::Approx(std::sqrt(form)));
}

TEST_CASE("swaps end once the likelihood is enough, and leave what patience does not reach") {
  Simulation simulation = five_laws(2);
  const RowTable table = simulation.table(2000);
  const RowBlocks rows(table);
  Random random(3);
  const EmFit first = fit_em(rows, random_em_start(rows, 5, random), {.max_iterations = 20});
  LawSwaps swaps(rows, hundred_iterations(), random);
  CHECK(swaps.improved(first, 30, first.mean_log_likelihood).mixture.coefficients ==
        first.mixture.coefficients);
  CHECK(swaps.improved(first, 0, no_end).mixture.coefficients == first.mixture.coefficients);
  const double enough = first.mean_log_likelihood + 1e-3;
  CHECK(swaps.improved(first, 200, enough).mean_log_likelihood >= enough);
}

TEST_CASE("a swap keeps known noise, and gives up what is not promising") {
  Simulation simulation = five_laws(4);
  const RowTable table = simulation.table(2000);
  const RowBlocks rows(table);
  const EmFit right = fit_em(rows, simulation.truth());
  Random random(5);
  SwapSettings strict = hundred_iterations();
  strict.promising = -1.0;  // nats better than the optimum: there is no such fit
  LawSwaps never(rows, strict, random);
  SwapSettings known = hundred_iterations();
  known.em.noise = NoiseModel::known;
  known.promising = no_end;
  LawSwaps always(rows, known, random);
  for (int i = 0; i < 5; ++i) {
    CHECK_FALSE(never.swapped(right));
    const auto end = always.swapped(right);
    REQUIRE(end);
    for (const double variance : end->mixture.noise_variances)
      CHECK(variance == right.mixture.noise_variances[0]);
  }
}
