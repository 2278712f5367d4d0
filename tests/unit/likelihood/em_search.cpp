#include "mixstream/likelihood/em_search.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "mixstream/likelihood/common_law.hpp"
#include "mixstream/likelihood/matching.hpp"
#include "mixstream/rows/simulation.hpp"

using namespace mixstream;

namespace {

/// Three parallel-free lines that random starts find now and then, in units that no standard normal start
/// knows.
RowTable far_units(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  RowTable rows{2, {}, {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const double x[2] = {1.0, 5000.0 + 1000.0 * random.normal()};
    const double y = random.uniform() < 0.4 ? 3e6 + 20.0 * x[1] : 2e6 - 60.0 * x[1];
    rows.add({x, y + 5000.0 * random.normal()});
  }
  return rows;
}

}  // namespace

TEST_CASE("least squares agrees with the normal equations solved by hand, far from zero too") {
  RowTable rows{2, {}, {}, {}};
  const double t[4] = {0.0, 1.0, 2.0, 3.0};
  const double y[4] = {1.0, 3.0, 4.0, 8.0};
  for (int i = 0; i < 4; ++i) {
    const double x[2] = {1.0, t[i]};
    rows.add({x, 1e7 + y[i], i == 3 ? 2.0 : 1.0});
  }
  const CommonLaw fit = common_law(RowBlocks(rows));
  // weights 1,1,1,2: sum w = 5, t = 9, t^2 = 23, y = 24, t y = 59; det = 5*23 - 81 = 34
  CHECK(fit.law[0] - 1e7 == doctest::Approx((24.0 * 23.0 - 9.0 * 59.0) / 34.0).epsilon(1e-7));
  CHECK(fit.law[1] == doctest::Approx((5.0 * 59.0 - 9.0 * 24.0) / 34.0).epsilon(1e-7));
  const double a = 21.0 / 34.0;
  const double b = 79.0 / 34.0;
  double squares = 0.0;
  for (int i = 0; i < 4; ++i) squares += (i == 3 ? 2.0 : 1.0) * std::pow(y[i] - a - b * t[i], 2.0);
  CHECK(fit.noise_variance == doctest::Approx(squares / 5.0).epsilon(1e-6));
}

TEST_CASE("starts on the rows' scale find laws in any units, and every start is reported") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const RowTable rows = far_units(2000, seed);
    const EmSearch search =
        best_of_random_starts(rows, 2, 10, seed, {.noise = NoiseModel::per_component}).value();
    REQUIRE(search.starts.size() == 10);
    CHECK_FALSE(search.best_is_spurious);
    const Mixture truth{2, {0.4, 0.6}, {3e6, 20.0, 2e6, -60.0}, {25e6, 25e6}};
    const Mixture found = relabelled(search.best.mixture, matching_order(truth, search.best.mixture));
    CHECK(found.law(0)[1] == doctest::Approx(20.0).epsilon(0.1));
    CHECK(found.law(1)[1] == doctest::Approx(-60.0).epsilon(0.1));
    for (const EmStart& start : search.starts) {
      if (!start.spurious) CHECK(start.mean_log_likelihood <= search.best.mean_log_likelihood);
    }
  }
}

TEST_CASE("starts scatter about the least-squares law by as much as y does") {
  const RowTable rows = far_units(500, 3);
  const RowBlocks blocks(rows);
  const CommonLaw common = common_law(blocks);
  Random random(8);
  double mean = 0.0;
  double squares = 0.0;
  for (int i = 0; i < 2000; ++i) {
    const Mixture start = random_em_start(blocks, 1, random);
    const Row row = rows.row(static_cast<std::size_t>(i) % rows.size());
    const double gap =
        (start.law(0)[0] - common.law[0]) + (start.law(0)[1] - common.law[1]) * row.features[1];
    mean += gap / 2000.0;
    squares += gap * gap / 2000.0;
  }
  CHECK(std::abs(mean) < 0.1 * std::sqrt(common.noise_variance));
  CHECK(squares == doctest::Approx(common.noise_variance).epsilon(0.15));
}

TEST_CASE("the same seed gives the same search") {
  const RowTable rows = far_units(300, 1);
  const EmSearch left = best_of_random_starts(rows, 2, 5, 42).value();
  const EmSearch right = best_of_random_starts(rows, 2, 5, 42).value();
  CHECK(left.best.mixture == right.best.mixture);
  CHECK(best_of_random_starts(rows, 2, 1, 43).value().starts[0].iterations > 0);
}

TEST_CASE("a component that sank onto few rows is spurious, a quiet one with many rows is not") {
  const Mixture honest{2, {0.5, 0.5}, {1.0, 1.0, 2.0, 2.0}, {1.0, 0.04}};
  CHECK_FALSE(is_spurious(honest, 100.0));
  const Mixture sunk{2, {0.6, 0.4}, {1.0, 1.0, 2.0, 2.0}, {1.0, 0.001}};
  CHECK(is_spurious(sunk, 100.0));
  CHECK(is_spurious(sunk, 1, 100.0));
  CHECK_FALSE(is_spurious(sunk, 0, 100.0));
  CHECK_FALSE(is_spurious(sunk, 1e5));
  const Mixture lost{2, {0.999, 0.001}, {1.0, 1.0, 2.0, 2.0}, {1.0, 1.0}};
  CHECK(is_spurious(lost, 1000.0));
  CHECK_FALSE(is_spurious(lost, 10000.0));
}

TEST_CASE("a more likely spurious optimum is told, and not chosen") {
  Random random(5);
  RowTable rows{2, {}, {}, {}};
  for (int i = 0; i < 58; ++i) {
    const double x[2] = {1.0, random.normal()};
    rows.add({x, (i % 2 == 0 ? 1.0 + x[1] : -1.0 - x[1]) + 0.5 * random.normal()});
  }
  for (int i = 0; i < 8; ++i) {  // eight rows on one line to the last digit
    const double x[2] = {1.0, 0.3 * i - 0.8};
    rows.add({x, 3.0 + 0.5 * x[1]});
  }
  const Mixture honest{2, {0.5, 0.5}, {1.0, 1.0, -1.0, -1.0}, {0.3, 0.3}};
  const Mixture sunk{2, {0.9, 0.1}, {0.0, 0.0, 3.0, 0.5}, {1.0, 1e-4}};
  const EmSettings settings{.noise = NoiseModel::per_component, .variance_floor = 1e-12};
  const std::vector<std::vector<Mixture>> lists = {
      {honest, sunk}, {sunk, honest}, {sunk, honest, sunk, honest}};
  for (const std::vector<Mixture>& starts : lists) {
    const EmSearch search = best_of_starts(rows, starts, settings).value();
    CHECK_FALSE(search.best_is_spurious);
    CHECK_FALSE(is_spurious(search.best.mixture, 66.0));
    REQUIRE(search.spurious);
    CHECK(is_spurious(search.spurious->mixture, 66.0));
    CHECK(search.spurious->mean_log_likelihood > search.best.mean_log_likelihood);
    for (std::size_t i = 0; i < starts.size(); ++i) CHECK(search.starts[i].spurious == (starts[i] == sunk));
  }
  const EmSearch alone = best_of_starts(rows, std::vector<Mixture>{sunk}, settings).value();
  CHECK(alone.best_is_spurious);
  CHECK(alone.best.mixture == alone.spurious->mixture);
  CHECK_FALSE(best_of_starts(rows, std::vector<Mixture>{honest}, settings).value().spurious);
  // Without iterations a start is its own fit: this one is spurious, but too unlikely to be worth telling.
  const Mixture unlikely{2, {0.9, 0.1}, {0.0, 0.0, 3.0, 0.5}, {1e4, 1e-4}};
  const EmSearch weak = best_of_starts(rows, std::vector<Mixture>{honest, unlikely},
                                       {.noise = NoiseModel::known, .max_iterations = 0})
                            .value();
  CHECK(weak.starts[1].spurious);
  CHECK(weak.starts[1].mean_log_likelihood < weak.best.mean_log_likelihood);
  CHECK_FALSE(weak.spurious);
}

TEST_CASE("no components, no starts and too few rows are refused by name") {
  const RowTable rows = far_units(10, 1);
  CHECK(best_of_random_starts(rows, 0, 5, 1).refusal().reason == Reason::bad_settings);
  CHECK(best_of_random_starts(rows, 2, 0, 1).refusal().reason == Reason::bad_settings);
  CHECK(best_of_random_starts(rows, 4, 5, 1).refusal().reason == Reason::too_few_rows);
  CHECK(best_of_starts(rows, {}).refusal().reason == Reason::bad_settings);
  const std::vector<Mixture> other = {empty_mixture(2, 3)};
  CHECK(best_of_starts(rows, other).refusal().reason == Reason::wrong_shape);
  CHECK(best_of_random_starts(RowTable{2, {}, {}, {}}, 1, 5, 1).refusal().reason == Reason::too_few_rows);
}

TEST_CASE("constant responses and equal rows give finite fits") {
  RowTable rows{2, {}, {}, {}};
  const double x[2] = {1.0, 3.0};
  for (int i = 0; i < 50; ++i) rows.add({x, 7.0});
  for (const StartScale scale : {StartScale::rows, StartScale::paper}) {
    const EmSearch search = best_of_random_starts(rows, 2, 3, 1, {}, scale).value();
    CHECK(is_finite(search.best.mixture));
    CHECK(std::isfinite(search.best.mean_log_likelihood));
  }
}
