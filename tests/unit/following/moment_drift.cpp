#include "mixstream/following/moment_drift.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "mixstream/estimator.hpp"
#include "mixstream/rows/simulation.hpp"
#include "support/moments_of.hpp"

using namespace mixstream;

namespace {

Simulation plane(std::uint64_t seed) {
  return Simulation({.map = FeatureMap::parse("1,u,v").value(), .component_count = 2, .seed = seed});
}

EstimatorSettings settings_of(Memory memory) {
  EstimatorSettings settings;
  settings.state.layout = {3, 0};
  settings.state.feature_map = "1,u,v";
  settings.state.memory = memory;
  settings.solve.component_count = 2;
  settings.solve.polish = PolishKind::off;  // the moments alone
  settings.every = 10000;
  return settings;
}

/// Rows at which the moments spoke, over streams whose laws all change at `change`, if at all.
std::vector<std::uint64_t> events_of(const Memory& memory, std::uint64_t seed, std::uint64_t change) {
  Estimator estimator = Estimator::create(settings_of(memory)).value();
  Simulation rows = plane(seed);
  for (std::uint64_t i = 0; i < 100000; ++i) {
    if (i == change) {
      Mixture truth = rows.truth();
      for (double& coefficient : truth.coefficients) coefficient += 0.3;
      rows.set_truth(truth);
    }
    Row row = rows.next();
    row.time = static_cast<double>(i);
    estimator.absorb(row);
    if (estimator.fit_is_due()) estimator.scheduled_fit();
  }
  std::vector<std::uint64_t> found;
  for (const DriftEvent& event : estimator.drift()) {
    CHECK(event.sign == DriftSign::moments);
    found.push_back(event.row);
  }
  return found;
}

}  // namespace

TEST_CASE("the rows since a fit are the moments now less those then") {
  const Layout layout{3, 0};
  const Pilot pilot = Pilot::identity(layout.variables());
  Simulation rows = plane(5);
  const RowTable before = rows.table(3000);
  const RowTable after = rows.table(1000);
  RowTable both = before;
  for (std::size_t i = 0; i < after.size(); ++i) both.add(after.row(i));
  const RememberedFit then = remember({}, moments_of(before, layout, pilot), 3000, 1, 0.0);
  const MomentTensor recent = since(then, moments_of(both, layout, pilot), 1.0);
  const MomentTensor direct = moments_of(after, layout, pilot);
  CHECK(recent.effective_rows == doctest::Approx(1000.0).epsilon(1e-9));
  for (std::size_t i = 0; i < direct.sums().size(); ++i)
    CHECK(recent.sums()[i] == doctest::Approx(direct.sums()[i]).epsilon(1e-9).scale(100.0));
}

TEST_CASE("the moments see laws that change, with every memory, and say nothing otherwise") {
  for (const Memory& memory : {Memory{}, Memory{.kind = Memory::Kind::half_life_rows, .length = 30000.0},
                               Memory{.kind = Memory::Kind::half_life_seconds, .length = 30000.0},
                               Memory{.kind = Memory::Kind::window_rows, .length = 40000.0}}) {
    CAPTURE(static_cast<int>(memory.kind));
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      CAPTURE(seed);
      CHECK(events_of(memory, seed, ~std::uint64_t{0}).empty());
      const std::vector<std::uint64_t> found = events_of(memory, seed, 55000);
      REQUIRE_FALSE(found.empty());
      CHECK(found.front() > 55000);
      CHECK(found.front() <= 80000);
    }
  }
}

TEST_CASE("where weights from a sample are too rough, the moments say nothing") {
  const Layout layout{3, 0};
  const Pilot pilot = Pilot::identity(layout.variables());
  Simulation rows = plane(6);
  const RowTable sample = rows.table(4000);
  RefinedFit fit;
  fit.mixture = rows.truth();
  fit.information = {8, 8, std::vector<double>(64)};
  for (std::size_t i = 0; i < 8; ++i) fit.information(i, i) = 1e12;
  Mixture later = rows.truth();
  for (double& coefficient : later.coefficients) coefficient += 0.3;
  rows.set_truth(later);
  const MomentTensor recent = moments_of(rows.table(20000), layout, pilot);
  for (const double expected_ratio : {1.0, 2.0}) {
    fit.expected_ratio = expected_ratio;
    const RememberedFit then = remember(fit, moments_of(sample, layout, pilot), 4000, 1, 0.0);
    CHECK(judge_recent(recent, sample, then, {}).has_value() == (expected_ratio < 1.5));
  }
}
