#include "mixstream/sensor_loop.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "loop_rows.hpp"
#include "mixstream/moments/codec.hpp"
#include "mixstream/moments/state.hpp"
#include "support/allocation_count.hpp"

using namespace mixstream;

namespace {

SensorLoop make_loop(const LoopSettings& settings) {
  return SensorLoop::create(settings).value();
}

void absorb(SensorLoop& loop, loop_rows::Source& source, std::size_t rows) {
  for (std::size_t i = 0; i < rows; ++i) loop.absorb(source.next());
}

}  // namespace

TEST_CASE("rows given to the solver come back as laws that classify") {
  LoopSettings settings = loop_rows::settings();
  settings.policy.every_rows = 4000;
  SensorLoop loop = make_loop(settings);
  loop_rows::Source source;
  CHECK_FALSE(loop.classify(source.next()));
  absorb(loop, source, 4000);
  const std::optional<Report> report = loop.refit();
  REQUIRE(report);
  CHECK(report->rows >= 3000);
  CHECK(report->status == FitStatus::ok);
  absorb(loop, source, 1);  // picks the fit up
  REQUIRE(loop.fit().component_count() == 2);
  std::size_t right = 0;
  const bool first_is_steep = loop.fit().law(0)[1] > 1.25;
  for (int i = 0; i < 1000; ++i) {
    const Row row = source.next();
    double p[2];
    const std::size_t component = *loop.classify(row);
    REQUIRE(loop.probabilities(row, p));
    CHECK(p[0] + p[1] == doctest::Approx(1.0));
    CHECK(p[component] >= 0.5);
    right += (component == 0) == (first_is_steep == (source.law == 0)) ? 1 : 0;
  }
  CHECK(right > 950);
}

TEST_CASE("a fit that was asked for arrives with the next row, far from any count") {
  LoopSettings settings = loop_rows::settings();
  settings.policy.for_polish = false;
  SensorLoop loop = make_loop(settings);
  loop_rows::Source source;
  absorb(loop, source, 4000);
  CHECK_FALSE(loop.refit());
  loop.request_refit();
  absorb(loop, source, 1);
  REQUIRE(loop.refit());
  CHECK(loop.fit().component_count() == 0);
  absorb(loop, source, 1);
  CHECK(loop.fit().component_count() == 2);
}

TEST_CASE("the loop's polish outlives hand-overs") {
  SensorLoop loop = make_loop(loop_rows::settings());
  loop_rows::Source source;
  std::vector<FitStage> stages;
  for (int i = 0; i < 12000; ++i) {
    loop.absorb(source.next());
    if (const auto report = loop.refit()) stages.push_back(report->stage);
  }
  REQUIRE(stages.size() >= 2);
  CHECK(stages[0] == FitStage::refined);  // the polish begins there
  for (std::size_t i = 1; i < stages.size(); ++i) CHECK(stages[i] == FitStage::polished);
}

TEST_CASE("asking for the whole ends a refit in slices, whose report is not lost") {
  LoopSettings settings = loop_rows::settings();
  settings.policy.every_rows = 3000;
  SensorLoop loop = make_loop(settings);
  loop_rows::Source source;
  absorb(loop, source, 3000);
  CHECK_FALSE(loop.refit_step(std::chrono::microseconds(20)));
  REQUIRE(loop.refit_is_under_way());
  CHECK(loop.whole().state().row_count() == 3000);
  CHECK_FALSE(loop.refit_is_under_way());
  const std::optional<Report> report = loop.refit_step(std::chrono::microseconds(20));
  REQUIRE(report);
  CHECK(report->rows == 3000);
}

TEST_CASE("the loop and an estimator that absorbed the same rows give the same answer") {
  LoopSettings settings = loop_rows::settings();
  settings.policy.every_rows = 2000;
  SensorLoop loop = make_loop(settings);
  Estimator estimator = Estimator::create(settings.estimator).value();
  loop_rows::Source source;
  for (int i = 0; i < 9000; ++i) {
    const Row row = source.next();
    loop.absorb(row);
    estimator.absorb(row);
    if (loop.refit()) estimator.scheduled_fit();
  }
  const Report ours = loop.whole().fit();
  const Report theirs = estimator.fit();
  CHECK(ours.rows == theirs.rows);
  REQUIRE(ours.components.size() == 2);
  REQUIRE(theirs.components.size() == 2);
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t j = 0; j < 2; ++j)
      CHECK(ours.components[h].coefficients[j] ==
            doctest::Approx(theirs.components[h].coefficients[j]).epsilon(1e-3));
  }
}

TEST_CASE("a refit in slices ends with the same answer as a refit") {
  LoopSettings settings = loop_rows::settings();
  settings.policy.every_rows = 5000;
  SensorLoop sliced = make_loop(settings);
  SensorLoop whole = make_loop(settings);
  loop_rows::Source source;
  std::optional<Report> from_slices;
  std::optional<Report> from_refit;
  int slices = 0;
  for (int i = 0; i < 5000; ++i) {
    const Row row = source.next();
    sliced.absorb(row);
    whole.absorb(row);
    if (const auto report = whole.refit()) from_refit = report;
    do {
      if (const auto report = sliced.refit_step(std::chrono::microseconds(20))) from_slices = report;
      ++slices;
    } while (sliced.refit_is_under_way());
  }
  REQUIRE(from_slices);
  REQUIRE(from_refit);
  CHECK(slices > 5010);  // it did come back in between
  CHECK(from_slices->mixture() == from_refit->mixture());
  CHECK(from_slices->rows == from_refit->rows);
}

TEST_CASE("absorb, classify, probabilities and try_snapshot allocate nothing") {
  LoopSettings settings = loop_rows::settings();
  settings.policy.every_rows = 2500;
  SensorLoop loop = make_loop(settings);
  loop_rows::Source source;
  std::size_t in_loop = 0;
  std::size_t snapshots = 0;
  double p[2];
  for (int i = 0; i < 40000; ++i) {
    const Row row = source.next();
    const std::size_t before = allocation_count();
    loop.absorb(row);
    if (loop.classify(row)) loop.probabilities(row, p);
    const bool taken = loop.try_snapshot();
    in_loop += allocation_count() - before;
    if (!taken) continue;
    ++snapshots;
    loop.refit();
  }
  CHECK(in_loop == 0);
  CHECK(snapshots > 10);
  CHECK(allocation_count() > 0);
}

TEST_CASE("bad rows are refused by name and change nothing but their count") {
  SensorLoop loop = make_loop(loop_rows::settings());
  loop_rows::Source source;
  absorb(loop, source, 500);
  const Bytes before = encode(loop.whole().state());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double narrow[1] = {1.0};
  const double broken[2] = {1.0, nan};
  CHECK(loop.absorb({narrow, 1.0}) == RowFault::wrong_width);
  CHECK(loop.absorb({broken, 1.0}) == RowFault::not_a_number);
  CHECK(loop.rows() == 500);
  CHECK(loop.row_counts()[1] == 1);
  CHECK(loop.whole().state().moments().sums() == decode(before).value().state.moments().sums());
  CHECK_FALSE(loop.classify({broken, 1.0}));
}

TEST_CASE("each policy asks when it should, and only then") {
  const auto handed_over = [](RefitPolicy policy, std::size_t rows) {
    LoopSettings settings = loop_rows::settings();
    policy.for_polish = false;
    settings.policy = policy;
    SensorLoop loop = make_loop(settings);
    loop_rows::Source source;
    std::size_t count = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      Row row = source.next();
      row.time = static_cast<double>(i);
      loop.absorb(row);
      if (!loop.try_snapshot()) continue;
      ++count;
      loop.refit();
    }
    return count;
  };
  CHECK(handed_over({}, 3000) == 0);
  CHECK(handed_over({.every_rows = 1000}, 3000) == 3);
  CHECK(handed_over({.every_seconds = 900.0}, 3000) == 4);  // the first with the pilot
  SensorLoop loop = make_loop(loop_rows::settings());
  loop_rows::Source source;
  absorb(loop, source, 300);
  CHECK_FALSE(loop.try_snapshot());
  loop.request_refit();
  absorb(loop, source, 1);
  CHECK(loop.try_snapshot());
  CHECK(loop.total().state().row_count() == 301);
  CHECK_FALSE(loop.try_snapshot());  // taken once
  loop.release_snapshot();
  CHECK(loop.whole().state().row_count() == 301);
}

TEST_CASE("on drift: a change of laws asks for a refit, rows of the same laws do not") {
  LoopSettings settings = loop_rows::settings();
  settings.estimator.state.memory = {Memory::Kind::half_life_rows, 20000.0};
  settings.policy = {.on_drift = true};
  SensorLoop loop = make_loop(settings);
  loop_rows::Source source;
  absorb(loop, source, 3000);
  REQUIRE(loop.refit());  // the polish begins
  const auto hand_overs = [&](std::size_t rows, double shift) {
    std::size_t by_drift = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      Row row = source.next();
      row.response += shift;
      loop.absorb(row);
      if (!loop.try_snapshot()) continue;
      const std::vector<DriftEvent> events = loop.total().drift();
      by_drift += !events.empty() && events.back().row == loop.rows() ? 1 : 0;
      loop.refit();
    }
    return by_drift;
  };
  CHECK(hand_overs(50000, 0.0) == 0);  // the detector wants 25000 rows to settle
  CHECK(hand_overs(5000, 1.0) > 0);
}

TEST_CASE("drift events allocate nothing in the loop's thread, saved and resumed or not") {
  LoopSettings settings = loop_rows::settings();
  settings.estimator.state.memory = {Memory::Kind::half_life_rows, 20000.0};
  settings.policy = {.on_drift = true};
  SensorLoop loop = make_loop(settings);
  loop_rows::Source source;
  std::size_t in_loop = 0;
  const auto run = [&](std::size_t rows, double shift) {
    for (std::size_t i = 0; i < rows; ++i) {
      Row row = source.next();
      row.response += shift;
      const std::size_t before = allocation_count();
      loop.absorb(row);
      in_loop += allocation_count() - before;
      loop.refit();
    }
  };
  run(50000, 0.0);
  for (const double shift : {1.0, 0.0}) {
    run(30000, shift);
    loop = SensorLoop::resume(loop.whole(), settings).value();
  }
  run(30000, -1.0);
  CHECK(loop.whole().drift().size() >= 3);
  CHECK(in_loop == 0);
}

TEST_CASE("a loop saved and resumed goes on with all its rows and its fit") {
  LoopSettings settings = loop_rows::settings();
  settings.policy.every_rows = 4000;
  SensorLoop loop = make_loop(settings);
  loop_rows::Source source;
  absorb(loop, source, 4000);
  loop.refit();
  absorb(loop, source, 777);
  const Bytes saved = loop.whole().encode();
  SensorLoop resumed =
      SensorLoop::resume(Estimator::decode(saved, settings.estimator).value(), settings).value();
  CHECK(resumed.rows() == 4777);
  CHECK(resumed.fit() == loop.fit());
  absorb(resumed, source, 10);
  CHECK(resumed.whole().state().row_count() == 4787);
}

TEST_CASE("the fixed-dimension loop is the same loop") {
  auto fixed = FixedSensorLoop<2>::create(loop_rows::settings()).value();
  loop_rows::Source source;
  for (int i = 0; i < 400; ++i) {
    const Row row = source.next();
    CHECK(fixed.absorb({row.features[0], row.features[1]}, row.response) == RowFault::none);
  }
  CHECK(fixed.core().rows() == 400);
  CHECK_FALSE(fixed.classify({1.0, 2.0}, 3.0));
}
