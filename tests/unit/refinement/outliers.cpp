#include "mixstream/refinement/outliers.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "support/kept.hpp"

using namespace mixstream;
using namespace experiments;

namespace {

/// Files rows by the largest entry of z in pilot units, as the moment state does.
BinnedMoments binned(const Drawn& drawn, const Pilot& pilot, std::size_t sample_rows) {
  std::vector<TensorBuilder> builders(4, TensorBuilder(drawn.layout, pilot));
  BinnedMoments result;
  result.sample.feature_count = drawn.rows.feature_count;
  std::vector<double> z(static_cast<std::size_t>(drawn.layout.variables()));
  RowTable chosen{drawn.rows.feature_count, {}, {}, {}};
  const std::size_t stride = std::max<std::size_t>(1, drawn.rows.size() / sample_rows);
  for (std::size_t i = 0; i < drawn.rows.size(); ++i) {
    to_pilot(drawn.rows.row(i), drawn.layout, pilot, z);
    double magnitude = 0.0;
    for (const double value : z) magnitude = std::max(magnitude, std::abs(value));
    const int bin = magnitude <= 4.0 ? 0 : magnitude <= 16.0 ? 1 : magnitude <= 256.0 ? 2 : 3;
    builders[static_cast<std::size_t>(bin)].add(drawn.rows.row(i));
    if (i % stride != 0) continue;
    chosen.add(drawn.rows.row(i));
    result.sample_bins.push_back(bin);
  }
  result.sample = to_pilot(chosen, drawn.layout, pilot);
  for (TensorBuilder& builder : builders) result.bins.push_back(builder.finished());
  return result;
}

const Setting setting{"square", "1,u,v,u^2*v^2", 2};

}  // namespace

TEST_CASE("gross outliers are set aside and counted, and the fit is as good as without them") {
  Drawn drawn = draw(setting, 50000, 81);
  const Kept clean = keep(drawn);
  const auto before = refine(clean.tensor, clean.sample, 2, {}, {});
  REQUIRE(before);
  const double clean_error =
      law_error(drawn.truth, to_raw(before.value().mixture, drawn.layout, clean.pilot));
  std::mt19937 random(82);
  std::uniform_real_distribution<double> size(20.0, 100.0);
  for (std::size_t i = 500; i < drawn.rows.size(); i += 1000) {
    drawn.rows.responses[i] += (i % 2000 == 500 ? 1.0 : -1.0) * size(random);  // y has a spread of about 1
  }
  const BinnedMoments moments = binned(drawn, clean.pilot, 5000);
  const auto fit = refine_with_bins(moments, 2, {}, {});
  REQUIRE(fit);
  CHECK(fit.value().fit.accepted);
  CHECK(fit.value().rows_set_aside >= 45);
  CHECK(fit.value().rows_set_aside <= 50);
  CHECK(law_error(drawn.truth, to_raw(fit.value().fit.mixture, drawn.layout, clean.pilot)) <
        2.0 * clean_error + 0.01);
  const auto spoilt = refine(moments_of_bins(moments, 4), sample_of_bins(moments, 4), 2, {}, {});
  CHECK((!spoilt || !spoilt.value().accepted));
}

TEST_CASE("a tail that fits the laws enters") {
  Drawn drawn = draw({"wide", "1,t", 2, {}, {0.1}, true}, 50000, 83);
  const Kept kept = keep(drawn);
  Pilot narrow = kept.pilot;
  for (std::size_t j = 1; j < narrow.scale.size(); ++j) narrow.scale[j] /= 2.0;  // so that some rows pass 4
  const BinnedMoments moments = binned(drawn, narrow, 5000);
  REQUIRE(moments.bins[1].row_count > 0);
  const auto fit = refine_with_bins(moments, 2, {}, {});
  REQUIRE(fit);
  CHECK(fit.value().fit.accepted);
  CHECK(fit.value().rows_set_aside == 0);
}

TEST_CASE("bins that entered the last fit are tried first, and lead to the same fit") {
  Drawn drawn = draw({"wide", "1,t", 2, {}, {0.1}, true}, 50000, 83);
  const Kept kept = keep(drawn);
  Pilot narrow = kept.pilot;
  for (std::size_t j = 1; j < narrow.scale.size(); ++j) narrow.scale[j] /= 2.0;
  const BinnedMoments moments = binned(drawn, narrow, 5000);
  const auto first = refine_with_bins(moments, 2, {}, {});
  REQUIRE(first);
  const Mixture& previous = first.value().fit.mixture;
  const auto ladder = refine_with_bins(moments, 2, {}, {}, &previous);
  const auto straight = refine_with_bins(moments, 2, {}, {.likely_bins = 4}, &previous);
  REQUIRE((ladder && straight));
  CHECK(straight.value().bins_used == ladder.value().bins_used);
  CHECK(straight.value().fit.distance == doctest::Approx(ladder.value().fit.distance).epsilon(0.01));
  for (std::size_t i = 0; i < previous.coefficients.size(); ++i) {
    CHECK(straight.value().fit.mixture.coefficients[i] ==
          doctest::Approx(ladder.value().fit.mixture.coefficients[i]).epsilon(1e-3));
  }
}

TEST_CASE("outliers stay out, though their bin was thought likely") {
  Drawn drawn = draw(setting, 50000, 81);
  const Kept clean = keep(drawn);
  const auto before = refine(clean.tensor, clean.sample, 2, {}, {});
  REQUIRE(before);
  for (std::size_t i = 500; i < drawn.rows.size(); i += 1000) drawn.rows.responses[i] += 60.0;
  const BinnedMoments moments = binned(drawn, clean.pilot, 5000);
  const auto fit = refine_with_bins(moments, 2, {}, {.likely_bins = 4}, &before.value().mixture);
  REQUIRE(fit);
  CHECK(fit.value().fit.accepted);
  CHECK(fit.value().rows_set_aside >= 45);
}

TEST_CASE("a second regime ten times larger loses no row") {
  Drawn drawn = draw(setting, 40000, 84);
  const Pilot quiet = keep(drawn).pilot;
  for (std::size_t i = drawn.rows.size() / 2; i < drawn.rows.size(); ++i) drawn.rows.responses[i] *= 10.0;
  const BinnedMoments moments = binned(drawn, quiet, 5000);
  const auto fit = refine_with_bins(moments, 2, {}, {.refine = {.more_starts = 0}});
  REQUIRE(fit);
  CHECK(fit.value().rows_set_aside == 0);
}

TEST_CASE("bins add up to the whole") {
  const Drawn drawn = draw(setting, 2000, 85);
  Pilot pilot = keep(drawn).pilot;
  pilot.scale.back() /= 4.0;
  const BinnedMoments moments = binned(drawn, pilot, 500);
  const MomentTensor whole = moments_of(drawn.rows, drawn.layout, pilot);
  const MomentTensor sum = moments_of_bins(moments, 4);
  CHECK(sum.row_count == whole.row_count);
  CHECK(sum.effective_rows == doctest::Approx(whole.effective_rows));
  for (std::size_t i = 0; i < whole.sums().size(); ++i) {
    CHECK(sum.sums()[i] == doctest::Approx(whole.sums()[i]).epsilon(1e-9).scale(1.0));
  }
  CHECK(sample_of_bins(moments, 4).size() == moments.sample.size());
  CHECK(sample_of_bins(moments, 1).size() < moments.sample.size());
}
