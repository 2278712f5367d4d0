// Rows in order through the estimator and the sensor loop: modes that persist, gates, tails, memory.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "mixstream/core/random.hpp"
#include "mixstream/estimator.hpp"
#include "mixstream/estimator/feedback.hpp"
#include "mixstream/following/polish_driver.hpp"
#include "mixstream/likelihood/matching.hpp"
#include "mixstream/rows/feature_map.hpp"
#include "mixstream/rows/simulation.hpp"
#include "mixstream/sensor_loop.hpp"
#include "support/allocation_count.hpp"

using namespace mixstream;

namespace {

/// Three laws of (1, u, v) that last for 300 rows in the mean; columns wander.
class Pump {
 public:
  explicit Pump(std::uint64_t seed, double dwell = 300.0) : random_(seed), stay_(1.0 - 1.0 / dwell) {
    truth_ = empty_mixture(3, 3);
    truth_.weights = {1.0 / 3, 1.0 / 3, 1.0 / 3};
    truth_.coefficients = {1.0, 0.8, -0.5, -1.0, 0.4, 0.9, 0.2, -1.1, 0.3};
    truth_.noise_variances = {0.09, 0.09, 0.09};
  }
  const Mixture& truth() const { return truth_; }

  Row next() {
    if (random_.uniform(0.0, 1.0) > stay_) mode_ = (mode_ + 1 + (random_.bits() & 1U)) % 3;
    for (std::size_t c = 0; c < 2; ++c) {
      wander_[c] = 0.99 * wander_[c] + std::sqrt(1.0 - 0.99 * 0.99) * random_.normal();
      x_[c + 1] = std::erf(wander_[c] / std::sqrt(2.0));
    }
    double y = 0.3 * random_.normal();
    for (std::size_t j = 0; j < 3; ++j) y += truth_.law(mode_)[j] * x_[j];
    return {x_, y};
  }
  std::size_t mode() const { return mode_; }

 private:
  Random random_;
  double stay_;
  Mixture truth_;
  std::size_t mode_ = 0;
  std::vector<double> wander_ = {0.0, 0.0};
  std::vector<double> x_ = {1.0, 0.0, 0.0};
};

EstimatorSettings persistent() {
  EstimatorSettings settings;
  settings.state.layout = {3, 0};
  settings.solve.component_count = 3;
  settings.solve.modes = Modes::persistent;
  return settings;
}

void feed(Estimator& estimator, Pump& pump, int rows) {
  for (int t = 0; t < rows; ++t) {
    estimator.absorb(pump.next());
    if (estimator.fit_is_due()) estimator.scheduled_fit();
  }
}

bool is_finite(const Report& report) {
  bool finite = true;
  for (const ComponentReport& component : report.components) {
    finite = finite && std::isfinite(component.weight) && std::isfinite(component.noise_variance);
    for (const double coefficient : component.coefficients) finite = finite && std::isfinite(coefficient);
    for (const double error : component.coefficient_errors) finite = finite && std::isfinite(error);
  }
  if (!report.modes) return finite;
  for (const double value : report.modes->transitions.values) finite = finite && value >= 0.0 && value <= 1.0;
  for (const double error : report.modes->transition_errors.values) finite = finite && std::isfinite(error);
  for (const double dwell : report.modes->dwells) finite = finite && std::isfinite(dwell);
  return finite;
}

/// Rows of a pump of which `mode_of(t)` says the mode.
template <class ModeOf>
Report fitted(std::size_t laws, int rows, ModeOf mode_of, ChainSettings chains = {}) {
  EstimatorSettings settings = persistent();
  settings.state.layout = {2, 0};
  settings.solve.component_count = laws;
  settings.chains = chains;
  Estimator estimator = Estimator::create(settings).value();
  Random random(11);
  const double slopes[] = {1.0, -1.0, 3.0};
  for (int t = 0; t < rows; ++t) {
    const double x[] = {1.0, random.uniform(-1.0, 1.0)};
    const auto [mode, time, sensor] = mode_of(t);
    estimator.absorb({x, slopes[mode] * (1.0 + x[1]) + 0.1 * random.normal(), 1.0, time, sensor});
    if (estimator.fit_is_due()) estimator.scheduled_fit();
  }
  return estimator.fit();
}

struct Placed {
  std::size_t mode = 0;
  double time = 0.0;
  std::uint64_t sensor = 0;
};

bool refused(const EstimatorSettings& settings, const std::string& word) {
  const Outcome<Estimator> made = Estimator::create(settings);
  return !made && made.refusal().text.find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("a pump whose modes last is fitted ok, with dwell times and no drift") {
  Pump pump(1);
  Estimator estimator = Estimator::create(persistent()).value();
  feed(estimator, pump, 60000);
  const Report report = estimator.fit();
  CHECK(report.status == FitStatus::ok);
  CHECK(report.drift.empty());
  CHECK_FALSE(report.moment_test);
  CHECK(coefficient_error(pump.truth(), report.mixture()) < 0.03);
  REQUIRE(report.modes);
  CHECK(report.modes->changes > 150.0);
  for (std::size_t h = 0; h < 3; ++h)
    CHECK(std::abs(report.modes->dwells[h] - 300.0) < 4.0 * report.modes->dwell_errors[h]);
}

TEST_CASE("independent rows ask nothing of the new parts") {
  EstimatorSettings settings = persistent();
  settings.solve.modes = Modes::independent;
  Pump pump(2, 1.0);
  Estimator estimator = Estimator::create(settings).value();
  feed(estimator, pump, 6000);
  CHECK_FALSE(estimator.fit().modes);
}

TEST_CASE("saved in the middle of a run of rows, it goes on bit for bit") {
  Pump pump(3);
  Estimator estimator = Estimator::create(persistent()).value();
  feed(estimator, pump, 7777);
  Outcome<Estimator> loaded = Estimator::decode(estimator.encode(), persistent());
  REQUIRE(loaded);
  for (int t = 0; t < 9000; ++t) {
    const Row row = pump.next();
    estimator.absorb(row);
    loaded.value().absorb(row);
    REQUIRE(estimator.fit_is_due() == loaded.value().fit_is_due());
    if (!estimator.fit_is_due()) continue;
    estimator.scheduled_fit();
    loaded.value().scheduled_fit();
  }
  CHECK(estimator.encode() == loaded.value().encode());
}

TEST_CASE("damaged bytes of rows in order are refused or harmless") {
  Pump pump(4);
  Estimator estimator = Estimator::create(persistent()).value();
  feed(estimator, pump, 6000);
  const FitFeedback feedback = [&] {
    Estimator copy = estimator;
    FitFeedback taken;
    taken.polish = PolishDriverState{};
    taken.polish->modes = ModeDriverState{};
    return taken;
  }();
  CHECK_FALSE(estimator.take(feedback));  // a driver of nothing
  const Bytes sound = estimator.fit_apart().feedback.encode();
  Random random(9);
  for (int i = 0; i < 300; ++i) {
    Bytes bytes = sound;
    bytes[random.bits() % bytes.size()] ^= static_cast<std::byte>(1U << random.bits() % 8);
    if (const Outcome<FitFeedback> read = FitFeedback::decode(bytes); read) {
      Estimator victim = estimator;
      static_cast<void>(victim.take(read.value()));
      for (int t = 0; t < 3; ++t) victim.absorb(pump.next());
    }
  }
}

TEST_CASE("two halves of the sensors merge to the laws of all") {
  Pump one(5);
  Pump two(6);
  Estimator first = Estimator::create(persistent()).value();
  feed(first, one, 40000);
  Estimator second = first.branch().value();  // the same coordinates
  feed(second, two, 40000);
  const Mixture alone = first.fit().mixture();
  REQUIRE(first.merge_branch(second));
  const Report merged = first.fit();
  CHECK(merged.rows == 80000);
  CHECK(merged.status == FitStatus::ok);
  CHECK(coefficient_error(one.truth(), merged.mixture()) < 0.03);
  CHECK(merged.components[0].coefficient_errors[0] < 0.02);
}

TEST_CASE("the loop follows modes without allocating, and says which one holds") {
  Pump pump(7);
  LoopSettings settings;
  settings.estimator = persistent();
  SensorLoop loop = SensorLoop::create(settings).value();
  for (int t = 0; t < 30000; ++t) {
    loop.absorb(pump.next());
    loop.refit();
  }
  std::vector<double> modes(3);
  REQUIRE(loop.modes(0, modes));
  std::size_t right = 0;
  const std::vector<std::size_t> order = matching_order(pump.truth(), loop.fit());
  const std::size_t before = allocation_count();
  for (int t = 0; t < 5000; ++t) {
    loop.absorb(pump.next());
    loop.modes(0, modes);
    const auto likeliest = static_cast<std::size_t>(std::ranges::max_element(modes) - modes.begin());
    right += likeliest == order[pump.mode()] ? 1 : 0;
  }
  CHECK(allocation_count() == before);
  CHECK(right > 4800);
  CHECK_FALSE(loop.modes(99, modes));  // nobody's
}

TEST_CASE("rows of persistent modes allocate nothing between the slices of a refit") {
  for (const auto& [d, k] : {std::pair<std::size_t, std::size_t>{4, 3}, {8, 4}}) {
    CAPTURE(d);
    std::string map = "1";
    for (std::size_t j = 1; j < d; ++j) map += ",t" + std::to_string(j);
    SimulationSettings stream;
    stream.map = FeatureMap::parse(map).value();
    stream.component_count = k;
    stream.noise_variances = {0.09};
    stream.stay = 0.99;
    stream.seed = 100 * d + k;
    const RowTable rows = Simulation(stream).table(18000);
    LoopSettings settings;
    settings.estimator = persistent();
    settings.estimator.state.layout = {static_cast<int>(d), 0};
    settings.estimator.solve.component_count = k;
    SensorLoop loop = SensorLoop::create(settings).value();
    std::size_t in_rows = 0;
    int slices = 0;
    int reports = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t before = allocation_count();
      loop.absorb(rows.row(i));
      in_rows += allocation_count() - before;
      if (i < 12000) loop.refit();
      if (i < 12000 || (i % 20 != 0 && !loop.refit_is_under_way())) continue;
      if (!loop.refit_is_under_way()) loop.request_refit();
      ++slices;
      reports += loop.refit_step(std::chrono::milliseconds(1)) ? 1 : 0;
    }
    CHECK(in_rows == 0);
    CHECK(reports > 0);
    CHECK(slices > reports);  // rows did come while a refit was under way
    std::vector<double> modes(k);
    CHECK(loop.modes(0, modes));  // and are followed
  }
}

TEST_CASE("what contradicts itself is refused with what to do") {
  EstimatorSettings settings = persistent();
  settings.solve.component_count = 0;
  CHECK(refused(settings, "give k"));
  settings = persistent();
  settings.state.memory = {Memory::Kind::window_rows, 10000.0};
  CHECK(refused(settings, "half-life"));
  settings = persistent();
  settings.solve.modes = Modes::gated;
  settings.state.layout.constant_feature = -1;
  CHECK(refused(settings, "constant"));
  settings = persistent();
  settings.solve.polish = PolishKind::off;
  CHECK(refused(settings, "polish"));
  settings = persistent();
  settings.solve.gate = {1};
  CHECK(refused(settings, "gate"));
}

TEST_CASE("one mode never left: finite, and named") {
  Pump pump(8, 1e12);
  Estimator estimator = Estimator::create(persistent()).value();
  feed(estimator, pump, 12000);
  const Report report = estimator.fit();
  CHECK(is_finite(report));
  CHECK(report.status != FitStatus::ok);
}

TEST_CASE("a mode that is seen once, in one stay of forty rows: finite, and the words say too few changes") {
  const Report report = fitted(3, 20000, [](int t) {
    const bool once = t >= 9000 && t < 9040;
    return Placed{once ? 2U : static_cast<std::size_t>(t / 2000 % 2)};
  });
  CHECK(is_finite(report));
  CHECK(report.words.find("few changes") != std::string::npos);
}

TEST_CASE("probabilities at 0 and 1, modes by turns: finite, and a mode lasts one row") {
  const Report report = fitted(2, 20000, [](int t) { return Placed{static_cast<std::size_t>(t % 2)}; });
  CHECK(is_finite(report));
  REQUIRE(report.modes);
  for (std::size_t h = 0; h < 2; ++h) {
    CHECK(report.modes->transitions(h, h) < 0.01);
    CHECK(report.modes->dwells[h] == doctest::Approx(1.0).epsilon(0.01));
  }
}

TEST_CASE("a clock that runs back and sensors without bound: counted, finite, and the laws are right") {
  const ChainSettings chains{.gap_seconds = 10.0};
  const auto check = [](const Report& report, std::uint64_t cut) {
    CHECK(is_finite(report));
    REQUIRE(report.modes);
    CHECK(report.modes->chains_cut == cut);
    REQUIRE(report.components.size() == 2);
    const double first = report.components[0].coefficients[0];
    CHECK(std::abs(std::abs(first) - 1.0) < 0.02);
  };
  check(fitted(
            2, 20000,
            [](int t) {
              const double time = t - (t >= 8000 ? 5000.0 : 0.0);  // set back once
              return Placed{static_cast<std::size_t>(t / 100 % 2), time};
            },
            chains),
        1);
  check(
      fitted(2, 20000,
             [](int t) {  // a new sensor every 20 rows, 64 of 1,000 are followed
               return Placed{static_cast<std::size_t>(t / 100 % 2), 0.0, static_cast<std::uint64_t>(t / 20)};
             }),
      20000 / 20 - 64);
}

namespace {

/// Whether 3,000 rows whose law a steep gate chooses, or with this chance the row before, show persistence.
bool shows_persistence(std::uint64_t seed, double as_before) {
  Random random(seed);
  EstimatorSettings settings;
  settings.state.layout = {2, 0};
  settings.solve.modes = Modes::gated;
  Estimator estimator = Estimator::create(settings).value();
  bool first = false;
  for (int t = 0; t < 3000; ++t) {
    const double x[] = {1.0, random.uniform(-20.0, 20.0)};
    if (random.uniform() >= as_before) first = random.uniform() < 1.0 / (1.0 + std::exp(2.0 * x[1]));
    estimator.absorb({x, (first ? 6.6 - 0.2 * x[1] : 9.5 + 0.5 * x[1]) + 0.15 * random.normal()});
  }
  const Report report = estimator.fit();
  return std::ranges::any_of(
      report.doubts, [](const Doubt& doubt) { return doubt.kind == DoubtKind::persistence && doubt.raised; });
}

}  // namespace

TEST_CASE("a steep gate is not taken for laws that last, and laws that last are seen beside it") {
  int false_alarms = 0;
  int seen = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    false_alarms += shows_persistence(seed, 0.0) ? 1 : 0;
    seen += shows_persistence(seed, 0.3) ? 1 : 0;
  }
  CHECK(false_alarms == 0);
  CHECK(seen == 5);
}
