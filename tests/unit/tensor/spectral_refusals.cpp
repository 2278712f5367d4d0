#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "mixstream/core/random.hpp"
#include "mixstream/rows/simulation.hpp"
#include "mixstream/tensor/spectral.hpp"
#include "support/moments.hpp"

using namespace mixstream;

namespace {

MomentTensor simulated(const char* text, std::size_t rows) {
  const FeatureMap map = FeatureMap::parse(text).value();
  Simulation simulation({map, 2});
  const Layout layout{static_cast<int>(map.feature_count()), map.constant_feature()};
  MomentTensor tensor(layout, Pilot::identity(layout.variables()));
  for (std::size_t i = 0; i < rows; ++i) testing::add_row(tensor, simulation.next());
  tensor.effective_rows = static_cast<double>(rows);
  return tensor;
}

bool mentions(const Outcome<SpectralFit>& outcome, const char* words) {
  return outcome.refusal().text.find(words) != std::string::npos;
}

/// Both estimators refuse for this reason.
void check_refused(const MomentTensor& tensor, int k, const SpectralSettings& settings, Reason reason) {
  SpectralWorkspace workspace;
  const Outcome<SpectralFit> start = rank_start(tensor, k, settings, workspace);
  const Outcome<SpectralFit> paper = paper_estimate(tensor, k, settings, workspace);
  REQUIRE_FALSE(start);
  REQUIRE_FALSE(paper);
  CHECK(start.refusal().reason == reason);
  CHECK(paper.refusal().reason == reason);
  CHECK(start.refusal().text.find(':') != std::string::npos);  // says what to do
}

SpectralSettings with_noise() {
  SpectralSettings settings;
  settings.noise_variance = 0.1;
  return settings;
}

}  // namespace

TEST_CASE("the paper's method refuses x = (1,t,t^2) and names the dependence") {
  const MomentTensor tensor = simulated("1,t,t^2", 2000);
  SpectralSettings settings = with_noise();
  settings.feature_names = {"1", "t", "t^2"};
  SpectralWorkspace workspace;
  const Outcome<SpectralFit> refused = paper_estimate(tensor, 2, settings, workspace);
  REQUIRE_FALSE(refused);
  CHECK(refused.refusal().reason == Reason::not_identifiable);
  CHECK(mentions(refused, "1*t^2 and t*t"));
  settings.allow_singular = true;
  const Outcome<SpectralFit> allowed = paper_estimate(tensor, 2, settings, workspace);
  REQUIRE(allowed);
  CHECK(allowed.value().warns(SpectralWarning::singular_regression));
}

TEST_CASE("the paper's method refuses an unknown noise variance where x holds a constant") {
  SpectralWorkspace workspace;
  const Outcome<SpectralFit> refused = paper_estimate(simulated("1,u,v", 2000), 2, {}, workspace);
  REQUIRE_FALSE(refused);
  CHECK(refused.refusal().reason == Reason::not_identifiable);
  CHECK(mentions(refused, "x holds a constant"));
}

TEST_CASE("an unknown noise variance is refused by the paper's method where |x| is constant") {
  MomentTensor tensor({2, -1}, Pilot::identity(4));
  Random random(3);
  for (int i = 0; i < 500; ++i) {
    const double angle = random.uniform(0.0, 6.28);
    const std::vector<double> x{std::cos(angle), std::sin(angle)};
    testing::add_row(tensor, {x, x[0] + random.normal()});
  }
  tensor.effective_rows = 500;
  SpectralWorkspace workspace;
  const Outcome<SpectralFit> refused = paper_estimate(tensor, 2, {}, workspace);
  REQUIRE_FALSE(refused);
  CHECK(refused.refusal().reason == Reason::not_identifiable);
}

TEST_CASE("too few or too many components are refused") {
  const MomentTensor tensor = simulated("1,u,v", 2000);
  check_refused(tensor, 0, with_noise(), Reason::bad_settings);
  check_refused(tensor, -3, with_noise(), Reason::bad_settings);
  check_refused(tensor, 5, with_noise(), Reason::not_identifiable);
  SpectralWorkspace workspace;
  CHECK(rank_start(tensor, 4, with_noise(), workspace));  // d + 1 with the noise variance known
  CHECK(rank_start(tensor, 4, {}, workspace).refusal().reason == Reason::not_identifiable);
  CHECK(paper_estimate(tensor, 4, with_noise(), workspace).refusal().reason == Reason::not_identifiable);
}

TEST_CASE("an empty or tiny state is refused") {
  check_refused(MomentTensor({3, 0}, Pilot::identity(4)), 2, with_noise(), Reason::too_few_rows);
  check_refused(simulated("1,u,v", 1), 2, with_noise(), Reason::too_few_rows);
  check_refused(simulated("1,u,v", 7), 2, with_noise(), Reason::too_few_rows);
  SpectralWorkspace workspace;
  CHECK(paper_estimate(simulated("1,u,v", 9), 2, with_noise(), workspace).refusal().reason ==
        Reason::too_few_rows);
}

TEST_CASE("x that never changes is refused by name") {
  MomentTensor tensor({2, 0}, Pilot::identity(3));
  Random random(3);
  for (int i = 0; i < 100; ++i) testing::add_row(tensor, {std::vector<double>{1.0, 4.0}, random.normal()});
  tensor.effective_rows = 100;
  SpectralSettings settings = with_noise();
  settings.feature_names = {"1", "temperature"};
  check_refused(tensor, 2, settings, Reason::not_identifiable);
  SpectralWorkspace workspace;
  CHECK(mentions(rank_start(tensor, 1, settings, workspace), "1 and temperature"));
}

TEST_CASE("a constant or exactly linear y is refused") {
  for (const double slope : {0.0, 2.0}) {
    MomentTensor tensor({2, 0}, Pilot::identity(3));
    Random random(3);
    for (int i = 0; i < 100; ++i) {
      const double t = random.normal();
      testing::add_row(tensor, {std::vector<double>{1.0, t}, 7.0 + slope * t});
    }
    tensor.effective_rows = 100;
    check_refused(tensor, 2, with_noise(), Reason::not_identifiable);
    check_refused(tensor, 1, with_noise(), Reason::not_identifiable);
  }
}

TEST_CASE("contradictory settings are refused") {
  const MomentTensor tensor = simulated("1,u,v", 2000);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<SpectralSettings> wrong(9, with_noise());
  wrong[0].noise_variance = -1.0;
  wrong[1].noise_variance = nan;
  wrong[2].second_penalty = -1.0;
  wrong[3].third_penalty = nan;
  wrong[4].power_restarts = 0;
  wrong[5].least_weight = 0.6;
  wrong[6].admm_tolerance = 0.0;
  wrong[7].noise_third = nan;
  wrong[8].regression_starts = 0;
  for (const SpectralSettings& settings : wrong) check_refused(tensor, 2, settings, Reason::bad_settings);
  SpectralSettings names = with_noise();
  names.feature_names = {"1"};
  check_refused(tensor, 2, names, Reason::wrong_shape);
  SpectralSettings loud = with_noise();
  loud.noise_variance = 1e6;
  check_refused(tensor, 2, loud, Reason::bad_settings);
}

TEST_CASE("moments that are not finite are refused") {
  MomentTensor tensor = simulated("1,u,v", 2000);
  tensor.sums()[5] = std::numeric_limits<double>::infinity();
  check_refused(tensor, 2, with_noise(), Reason::numerical);
}

TEST_CASE("more than 32 features are refused, with the cost") {
  MomentTensor tensor({33, 0}, Pilot::identity(34));
  SpectralWorkspace workspace;
  const Outcome<SpectralFit> refused = rank_start(tensor, 2, {}, workspace);
  REQUIRE_FALSE(refused);
  CHECK(refused.refusal().reason == Reason::too_large);
  CHECK(mentions(refused, "MB"));
  CHECK(paper_estimate(tensor, 2, with_noise(), workspace).refusal().reason == Reason::too_large);
}

TEST_CASE("parts of different shape are refused") {
  const MomentTensor one = simulated("1,u,v", 2000);
  const MomentTensor other = simulated("1,u", 2000);
  SpectralWorkspace workspace;
  CHECK(paper_estimate(MomentParts{one, other, one}, 2, with_noise(), workspace).refusal().reason ==
        Reason::wrong_shape);
}

TEST_CASE("hostile moments never give anything but finite fits or refusals") {
  Random random(77);
  SpectralWorkspace workspace;
  int fitted = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const int d = 1 + static_cast<int>(random.bits() % 4);
    const Layout layout{d, random.bits() % 2 == 0 ? 0 : -1};
    MomentTensor tensor(layout, Pilot::identity(layout.variables()));
    const int kind = trial % 3;  // arbitrary sums; a few rows; huge and tiny columns
    if (kind == 0) {
      for (double& sum : tensor.sums()) sum = random.normal() * std::pow(10.0, random.uniform(-8.0, 8.0));
      tensor.sums()[0] = 100.0;
    } else {
      const int rows = kind == 1 ? 2 + static_cast<int>(random.bits() % 20) : 200;
      for (int i = 0; i < rows; ++i) {
        std::vector<double> x;
        for (int a = 0; a < d; ++a)
          x.push_back(kind == 1 ? random.normal() : std::pow(10.0, 9.0 * a) * random.normal());
        if (layout.has_constant()) x[0] = 1.0;
        testing::add_row(tensor, {x, (kind == 1 ? 1.0 : 1e-20) * random.normal()});
      }
    }
    tensor.effective_rows = 100.0;
    const int k = 1 + static_cast<int>(random.bits() % 5);
    SpectralSettings settings;
    settings.allow_singular = true;
    if (random.bits() % 2 == 0) settings.noise_variance = 0.1;
    for (const bool paper : {false, true}) {
      const Outcome<SpectralFit> outcome =
          paper ? paper_estimate(tensor, k, settings, workspace) : rank_start(tensor, k, settings, workspace);
      if (!outcome) continue;
      ++fitted;
      const Mixture& mixture = outcome.value().mixture;
      double total = 0.0;
      for (const double weight : mixture.weights) {
        CHECK(weight > 0.0);
        total += weight;
      }
      CHECK(total == doctest::Approx(1.0));
      for (const double value : mixture.coefficients) CHECK(std::isfinite(value));
      for (const double value : mixture.noise_variances) CHECK(value > 0.0);
      CHECK(std::isfinite(outcome.value().noise_variance));
    }
  }
  CHECK(fitted > 20);
}
