// Looks at groups, their turns, and what is told of them.
#include "models/fleet.hpp"

#include <doctest/doctest.h>

#include <string>

#include "mixstream/core/random.hpp"

using namespace mixstream;
using namespace std::chrono_literals;

namespace {

using Clock = Fleet::Clock;

EstimatorSettings settings_of() {
  EstimatorSettings settings;
  settings.state.layout = {2, 0};
  settings.state.feature_map = "1,t";
  settings.state.response = "y";
  settings.solve.component_count = 2;
  return settings;
}

void feed(GroupModels& groups, const std::string& name, std::size_t rows, double shift, std::uint64_t seed) {
  Random numbers(seed);
  for (std::size_t i = 0; i < rows; ++i) {
    const double x[2] = {1.0, 2.0 * numbers.uniform() - 1.0};
    const bool first = numbers.uniform() < 0.4;
    const double y = (first ? 1.0 + 2.0 * x[1] : -1.0 + shift + 0.5 * x[1]) + 0.1 * numbers.normal();
    groups.take({"", name}, {x, y}, 0.0);
  }
}

KnownLaws fleet_laws() {
  KnownLaws known{empty_mixture(2, 2), 50000.0};
  known.laws.weights = {0.6, 0.4};
  known.laws.coefficients = {-1.0, 0.5, 1.0, 2.0};
  known.laws.noise_variances = {0.01, 0.01};
  return known;
}

GroupLook look(double departure, double size = 2.0) {
  GroupLook look;
  look.rows = 10;
  look.departure = LawReading{departure, size, 0};
  return look;
}

}  // namespace

TEST_CASE("a look finds the group's laws in the fleet's order, and who has other ones") {
  GroupModels groups(settings_of(), {.enabled = true});
  feed(groups, "usual", 3000, 0.0, 1);
  feed(groups, "other", 3000, 0.3, 2);
  const GroupLook usual = look_at(groups.copy_of("usual"), groups.settings(), fleet_laws(), {});
  REQUIRE(usual.laws);
  CHECK(usual.laws->laws.law(0)[0] == doctest::Approx(-1.0).epsilon(0.05));
  CHECK(usual.laws->laws.law(1)[0] == doctest::Approx(1.0).epsilon(0.05));
  CHECK(usual.departure->deviations < 4.0);
  CHECK(usual.drift->deviations < 4.0);
  CHECK(usual.mode);
  const GroupLook other = look_at(groups.copy_of("other"), groups.settings(), fleet_laws(), {});
  CHECK(other.departure->deviations > Fleet::limit);
  CHECK(other.departure->size == doctest::Approx(3.0).epsilon(0.2));
  CHECK(other.departure->component == 0);
  CHECK(other.drift->deviations < 4.0);
}

TEST_CASE("a group whose law moves is seen to drift, though its model has rows of before and after") {
  GroupModels groups(settings_of(), {.enabled = true});
  feed(groups, "pump", 4000, 0.0, 1);
  const GroupLook before = look_at(groups.copy_of("pump"), groups.settings(), {}, {});
  feed(groups, "pump", 1000, 0.3, 2);
  const GroupLook after = look_at(groups.copy_of("pump"), groups.settings(), {}, before.laws);
  CHECK(before.drift->deviations < 4.0);
  CHECK(after.drift->deviations > Fleet::limit);
  CHECK_FALSE(after.departure);  // no fleet's laws are known
}

TEST_CASE("the group that waits longest is next, and one without new rows is not") {
  Fleet fleet({.enabled = true});
  const Clock::time_point start = Clock::now();
  for (const char* const name : {"a", "b", "c"}) fleet.note({name, 10, 0.0, false});
  for (const std::string expected : {"a", "b", "c"}) {
    // Those never looked at, in any order, but each once.
    const std::optional<std::string> name = fleet.next(start);
    REQUIRE(name);
    fleet.keep(*name, look(0.0), start + std::chrono::seconds(expected[0]));
  }
  CHECK_FALSE(fleet.next(start + 1h));
  fleet.note({"c", 11, 0.0, false});
  fleet.note({"b", 11, 0.0, false});
  CHECK_FALSE(fleet.next(start));  // looked at since then
  const std::optional<std::string> first = fleet.next(start + 1h);
  REQUIRE(first);
  fleet.keep(*first, look(0.0), start + 2h);  // a row came meanwhile: 11, not 10
  CHECK(fleet.next(start + 3h) != first);
  CHECK(fleet.is_looked_at());
}

TEST_CASE("what is told names groups, tells of new ones, and ends below half the limit") {
  Fleet fleet({.enabled = true, .silent_after = 60.0, .departs_by = 0.5});
  for (const char* const name : {"a", "b"}) fleet.note({name, 10, 1000.0, false});
  const auto departs = [&](double now = 1001.0) { return fleet.tidings(now)[1]; };
  fleet.keep("a", look(20.0, 0.4), Clock::now());  // sure, and too small to be told
  CHECK(departs().words.empty());
  fleet.keep("a", look(20.0), Clock::now());
  CHECK(departs().words.find("the fleet's: a (law 1 by 2 noise sd, 20 standard deviations);") !=
        std::string::npos);
  CHECK_FALSE(departs().has_new_names);
  fleet.keep("b", look(9.0), Clock::now());
  CHECK(departs(1002.0).words.find("), b (") != std::string::npos);
  CHECK_FALSE(departs(1030.0).has_new_names);  // a storm is not told name by name
  CHECK(departs(1061.0).has_new_names);
  CHECK_FALSE(departs(1200.0).has_new_names);
  fleet.keep("b", look(0.0), Clock::now());
  CHECK_FALSE(departs(1300.0).has_new_names);
  fleet.keep("b", look(9.0), Clock::now());
  CHECK(departs(1400.0).has_new_names);
  fleet.keep("a", look(4.0), Clock::now());  // neither sure nor over
  CHECK(fleet.summary(1001.0).departing.names == std::vector<std::string>{"a", "b"});
  fleet.keep("a", look(2.0), Clock::now());
  CHECK(fleet.summary(1001.0).departing.names == std::vector<std::string>{"b"});
  fleet.note({"b", 11, 1050.0, false});
  const Fleet::Tidings silent = fleet.tidings(1061.0)[2];
  CHECK(silent.words.find(": a (no row for 61 s)") != std::string::npos);
  CHECK(silent.words.find("b (") == std::string::npos);
  CHECK(fleet.page(1, 5, 1200.0).at(0).silent);
}

TEST_CASE("many groups are told with bounded words") {
  Fleet fleet({.enabled = true});
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "pump-" + std::to_string(i);
    fleet.note({name, 10, 0.0, false});
    fleet.keep(name, look(30.0), Clock::now());
  }
  const std::string words = fleet.tidings(0.0)[1].words;
  CHECK(words.size() < 700);
  CHECK(words.find("and 994 more") != std::string::npos);
  const FleetSummary summary = fleet.summary(0.0);
  CHECK(summary.departing.count == 1000);
  CHECK(summary.departing.names.size() == FleetSummary::most_names);
}
