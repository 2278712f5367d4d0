#include "mixstream/estimator.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "mixstream/core/random.hpp"
#include "mixstream/moments/codec.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/moments/tensor.hpp"

using namespace mixstream;

namespace {

EstimatorSettings settings_for(std::uint64_t first_check) {
  EstimatorSettings settings;
  settings.state.layout = {2, 0};
  settings.state.feature_map = "1,t";
  settings.state.response = "y";
  settings.solve.component_count = 2;
  settings.solve.feature_names = {"1", "t"};
  settings.polish.first_check = first_check;
  return settings;
}

/// y = 1 + 2t or -1 - 2t, with noise; the same rows for the same seed.
class Rows {
 public:
  explicit Rows(std::uint64_t seed) : random_(seed) {}

  void give(Estimator& estimator, int count) {
    for (int i = 0; i < count; ++i) {
      const double unit = static_cast<double>(random_.bits() >> 11) * 0x1p-53;
      const double features[2] = {1.0, 2.0 * unit - 1.0};
      const double sign = (random_.bits() & 1) != 0 ? 1.0 : -1.0;
      double noise = -6.0;  // the sum of twelve uniforms is nearly normal
      for (int j = 0; j < 12; ++j) noise += static_cast<double>(random_.bits() >> 11) * 0x1p-53;
      estimator.absorb({features, sign * (1.0 + 2.0 * features[1]) + 0.2 * noise});
      if (estimator.fit_is_due()) estimator.scheduled_fit();
    }
  }

 private:
  Random random_;
};

}  // namespace

TEST_CASE("rows read by branches count as rows read in order") {
  const EstimatorSettings settings = settings_for(1000);
  Estimator in_order = Estimator::create(settings).value();
  Estimator trunk = Estimator::create(settings).value();
  Rows all(1);
  Rows first(1);
  all.give(in_order, 1500);
  first.give(trunk, 1500);
  REQUIRE(trunk.state() == in_order.state());
  Estimator left = trunk.branch().value();
  Estimator right = trunk.branch().value();
  CHECK(left.state().row_count() == 0);
  CHECK_FALSE(left.fit_is_due());
  all.give(in_order, 3000);
  first.give(left, 1500);
  first.give(right, 1500);
  left.count_refused("ragged");
  REQUIRE(trunk.merge_branch(left));
  REQUIRE(trunk.merge_branch(right));

  CHECK(trunk.state().row_count() == 4500);
  CHECK(trunk.refused() == std::vector<std::pair<std::string, std::uint64_t>>{{"ragged", 1}});
  const MomentTensor together = trunk.state().moments();
  const MomentTensor alone = in_order.state().moments();
  for (std::size_t i = 0; i < alone.sums().size(); ++i)
    CHECK(together.sums()[i] == doctest::Approx(alone.sums()[i]).epsilon(1e-12).scale(4500));
  const Report in_parts = trunk.fit();
  const Report whole = in_order.fit();
  CHECK(in_parts.stage == FitStage::polished);
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t f = 0; f < 2; ++f) {
      const double error = whole.components[h].coefficient_errors[f];
      CHECK(std::abs(in_parts.components[h].coefficients[f] - whole.components[h].coefficients[f]) <
            0.3 * error);
      CHECK(in_parts.components[h].coefficient_errors[f] == doctest::Approx(error).epsilon(0.02));
    }
  }
}

TEST_CASE("a branch needs a fixed pilot and a memory of everything") {
  Estimator young = Estimator::create(settings_for(1000)).value();
  CHECK_FALSE(young.branch());
  EstimatorSettings forgetting = settings_for(1000);
  forgetting.state.memory = {Memory::Kind::half_life_rows, 100.0};
  Estimator old = Estimator::create(forgetting).value();
  Rows(1).give(old, 500);
  CHECK_FALSE(old.branch());
}

TEST_CASE("a saved estimator tells how it solved") {
  EstimatorSettings settings = settings_for(1000);
  settings.solve.component_count = 3;
  settings.solve.noise = NoiseModel::known;
  settings.solve.noise_variance = 0.25;
  settings.solve.method = FitMethod::em;
  settings.solve.seed = 99;
  settings.solve.guard = false;
  SolveSettings saved = Estimator::saved_solve_settings(Estimator::create(settings).value().encode()).value();
  saved.feature_names = settings.solve.feature_names;
  CHECK(saved == settings.solve);
  CHECK(Estimator::saved_solve_settings(encode(MomentState::create(settings.state).value())).value() ==
        SolveSettings{});
}

TEST_CASE("a schedule by rows does not count up through rows that were never its own") {
  EstimatorSettings settings = settings_for(1ULL << 40);
  Estimator estimator = Estimator::create(settings).value();
  Rows(1).give(estimator, 1234);
  settings.every = 100;
  const Estimator resumed = Estimator::decode(estimator.encode(), settings).value();
  CHECK_FALSE(resumed.every_is_due());
  CHECK(resumed.rows_until_due() == 66);
}
