// The one check at the border: what cannot work is refused before anything is allocated, in words.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "mixstream/estimator.hpp"
#include "mixstream/estimator/feedback.hpp"

using namespace mixstream;

namespace {

EstimatorSettings sound() {
  EstimatorSettings settings;
  settings.state.layout = {3, 0};
  settings.solve.component_count = 2;
  return settings;
}

std::string refusal_of(const std::function<void(EstimatorSettings&)>& change) {
  EstimatorSettings settings = sound();
  change(settings);
  const Done done = check(settings);
  const Outcome<Estimator> made = Estimator::create(settings);
  CHECK(static_cast<bool>(done) == static_cast<bool>(made));
  return done ? std::string() : done.refusal().text;
}

}  // namespace

TEST_CASE("settings that would throw once a polish begins are refused at the border") {
  const std::vector<std::function<void(EstimatorSettings&)>> broken{
      [](EstimatorSettings& s) { s.polish.first_check = 0; },
      [](EstimatorSettings& s) { s.polish.move_every = 0; },
      [](EstimatorSettings& s) { s.drift.limit = 0.0; },
      [](EstimatorSettings& s) { s.drift.largest_expected_ratio = 0.5; },
      [](EstimatorSettings& s) { s.chains.most_chains = 0; },
      [](EstimatorSettings& s) { s.chains.gap_seconds = -1.0; },
  };
  for (std::size_t i = 0; i < broken.size(); ++i) {
    CAPTURE(i);
    CHECK_FALSE(refusal_of(broken[i]).empty());
  }
  CHECK(refusal_of([](EstimatorSettings&) {}).empty());
}

TEST_CASE("the settings of an estimator make another one") {
  EstimatorSettings settings = sound();
  settings.state.memory = {Memory::Kind::half_life_rows, 1000.0};
  settings.solve.modes = Modes::persistent;
  const Outcome<Estimator> made = Estimator::create(settings);
  REQUIRE(made);
  CHECK(Estimator::create(made.value().settings()));
}

TEST_CASE("a number that stands for no sign of drift is not read as another sign") {
  FitFeedback feedback;
  feedback.watch.events.push_back({5000, DriftSign::moments, 7.0, 0.0});
  const Bytes bytes = feedback.encode();
  REQUIRE(FitFeedback::decode(bytes));
  feedback.watch.events.front().sign = DriftSign::scores;
  const Bytes other = feedback.encode();
  std::size_t at = 0;
  while (bytes[at] == other[at]) ++at;
  Bytes damaged = bytes;
  damaged[at] = std::byte{4};
  CHECK_FALSE(FitFeedback::decode(damaged));
}
