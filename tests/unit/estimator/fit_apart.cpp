// A fit made on a copy and taken by the original, as the daemon does.
#include <doctest/doctest.h>

#include "mixstream/estimator.hpp"
#include "mixstream/estimator/feedback.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/rows/simulation.hpp"

using namespace mixstream;

namespace {

EstimatorSettings settings_of(std::size_t k) {
  EstimatorSettings settings;
  settings.state.layout = {2, 0};
  settings.state.feature_map = "1,t";
  settings.state.reservoir_rows = 2000;
  settings.polish.first_check = 2000;
  settings.solve.component_count = k;
  settings.every = 3000;
  return settings;
}

Simulation two_laws() {
  SimulationSettings stream;
  stream.map = FeatureMap::parse("1,t").value();
  stream.component_count = 2;
  stream.seed = 43;
  return Simulation(stream);
}

void absorb(Estimator& estimator, Simulation& rows, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) estimator.absorb(rows.next());
}

}  // namespace

TEST_CASE("a fit apart that is taken at once leaves what a scheduled fit leaves") {
  Estimator whole = Estimator::create(settings_of(2)).value();
  Estimator apart = whole;
  Simulation rows = two_laws();
  for (int i = 0; i < 13000; ++i) {
    const Row row = rows.next();
    whole.absorb(row);
    apart.absorb(row);
    REQUIRE(whole.fit_is_due() == apart.fit_is_due());
    if (!whole.fit_is_due()) continue;
    whole.scheduled_fit();
    Estimator copy = apart;
    REQUIRE(apart.take(copy.fit_apart().feedback));
  }
  CHECK(whole.last_fit().has_value());
  CHECK(whole.encode() == apart.encode());
}

TEST_CASE("a fit that nobody sees leaves what one with every detail leaves") {
  Estimator seen = Estimator::create(settings_of(2)).value();
  Estimator unseen = seen;
  Simulation rows = two_laws();
  for (int i = 0; i < 13000; ++i) {
    const Row row = rows.next();
    seen.absorb(row);
    unseen.absorb(row);
    if (!seen.fit_is_due()) continue;
    const Report report = seen.scheduled_fit();
    CHECK(unseen.scheduled_fit(SolveDetail::fit).status == report.status);
  }
  CHECK(seen.encode() == unseen.encode());
}

TEST_CASE("feedback survives its bytes, and rows that came meanwhile stay") {
  Estimator estimator = Estimator::create(settings_of(2)).value();
  Simulation rows = two_laws();
  absorb(estimator, rows, 2500);
  Estimator copy = estimator;
  absorb(estimator, rows, 700);
  const FitFeedback feedback = copy.fit_apart().feedback;
  REQUIRE(feedback.fit.has_value());
  REQUIRE(feedback.polish.has_value());
  const Bytes bytes = feedback.encode();
  const Outcome<FitFeedback> back = FitFeedback::decode(bytes);
  REQUIRE(back);
  CHECK(back.value() == feedback);
  REQUIRE(estimator.take(back.value()));
  CHECK(estimator.state().row_count() == 3200);
  CHECK(estimator.last_fit() == feedback.fit);
}

TEST_CASE("a doubt comes back with the feedback, is saved, and keeps a fit from being called ok") {
  Estimator estimator = Estimator::create(settings_of(2)).value();
  Simulation rows = two_laws();
  absorb(estimator, rows, 2500);
  estimator.scheduled_fit();
  REQUIRE(estimator.fit().status == FitStatus::ok);
  FitFeedback feedback = Estimator(estimator).fit_apart().feedback;
  feedback.schedule = {.next_check = 4000, .bins = 1, .in_doubt = true, .tentative = true};
  const Outcome<FitFeedback> back = FitFeedback::decode(feedback.encode());
  REQUIRE(back);
  CHECK(back.value() == feedback);
  REQUIRE(estimator.take(back.value()));
  const Estimator saved = Estimator::decode(estimator.encode(), settings_of(2)).value();
  CHECK(saved.encode() == estimator.encode());
  const Report report = saved.fit();
  CHECK(report.status == FitStatus::poor_fit);
  CHECK(report.words.find("other starts met different ones") != std::string::npos);
}

TEST_CASE("shortened feedback is refused") {
  Estimator estimator = Estimator::create(settings_of(2)).value();
  Simulation rows = two_laws();
  absorb(estimator, rows, 2500);
  const Bytes bytes = estimator.fit_apart().feedback.encode();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(FitFeedback::decode({bytes.data(), size}));
}

TEST_CASE("feedback of another model is refused and changes nothing") {
  Simulation rows = two_laws();
  Estimator two = Estimator::create(settings_of(2)).value();
  Estimator three = Estimator::create(settings_of(3)).value();
  absorb(two, rows, 2500);
  absorb(three, rows, 100);
  const FitFeedback feedback = two.fit_apart().feedback;
  const Bytes before = three.encode();
  CHECK_FALSE(three.take(feedback));
  CHECK(three.encode() == before);
}
