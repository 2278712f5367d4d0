// Models of groups: rows while they are few, estimators once they are many, the same after a restart.
#include "models/group_models.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "mixstream/core/random.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/rows/source.hpp"

using namespace mixstream;

namespace {

EstimatorSettings settings_of() {
  EstimatorSettings settings;
  settings.state.layout = {2, 0};
  settings.state.feature_map = "1,t";
  settings.state.response = "y";
  settings.state.reservoir_rows = 500;
  settings.solve.component_count = 2;
  settings.solve.modes = Modes::persistent;  // of the stream's own model: a group's has none
  return settings;
}

GroupModels models(std::size_t most = 100, std::size_t level = 2) {
  return {settings_of(), {.enabled = true, .level = level, .most_models = most}};
}

/// Rows of pumps by turns, each pump with its own numbers.
class Fed {
 public:
  explicit Fed(std::uint64_t seed) : numbers_(seed) {}
  void feed(GroupModels& into, const std::vector<std::string>& pumps, std::size_t rows_each) {
    for (std::size_t i = 0; i < rows_each; ++i) {
      for (const std::string& pump : pumps) {
        const double x[2] = {1.0, numbers_.uniform()};
        const double y = (numbers_.uniform() < 0.4 ? 1.0 + x[1] : -x[1]) + 0.1 * numbers_.normal();
        into.take({"plant/" + pump + "/rows", pump}, {x, y, 1.0, 1e9 + ++arrival_, sensor_number(pump)},
                  arrival_);
      }
    }
  }

 private:
  Random numbers_;
  double arrival_ = 0.0;
};

}  // namespace

TEST_CASE("a model is rows while they are few and an estimator of the same rows once they are many") {
  GroupModels groups = models();
  Fed(1).feed(groups, {"a"}, FewRows::most_rows);
  CHECK_FALSE(groups.take_touched().at(0).grown);
  const std::unique_ptr<Estimator> few = groups.estimator_of("a");
  CHECK(few->state().row_count() == FewRows::most_rows);
  const GroupCopy before = groups.copy_of("a");
  CHECK(before.few != nullptr);
  CHECK(before.recent.size() == GroupModels::recent_rows);

  GroupModels longer = models();
  Fed(1).feed(longer, {"a"}, FewRows::most_rows + 700);
  const std::vector<GroupFigures> figures = longer.take_touched();
  REQUIRE(figures.size() == 1);
  CHECK(figures[0].grown);
  CHECK(figures[0].rows == FewRows::most_rows + 700);
  const GroupCopy after = longer.copy_of("a");
  REQUIRE(after.grown != nullptr);
  CHECK(after.grown->state().row_count() == FewRows::most_rows + 700);

  Estimator direct = Estimator::create(longer.settings()).value();  // the same rows at the same places
  Random numbers(1);
  std::uint64_t source = 0;
  for (std::uint64_t i = 0; i < FewRows::most_rows + 700; ++i) {
    const double x[2] = {1.0, numbers.uniform()};
    const double y = (numbers.uniform() < 0.4 ? 1.0 + x[1] : -x[1]) + 0.1 * numbers.normal();
    const double first[2] = {x[1], y};
    if (i == 0) source = source_of(first);
    direct.absorb({x, y}, {i, source});
  }
  CHECK(direct.state().sample().rows == after.grown->state().sample().rows);
  CHECK(direct.encode() == after.grown->encode());
}

TEST_CASE("the newest rows are at hand, in their order, however many there were") {
  GroupModels groups = models();
  Random numbers(9);
  for (std::size_t i = 0; i < 2777; ++i) {
    const double x[2] = {1.0, numbers.uniform()};
    groups.take({"plant/a/rows", "a"}, {x, static_cast<double>(i)}, 0.0);
    const GroupCopy copy = i % 3 == 0 ? groups.copy_of("a") : GroupCopy{};
    if (copy.rows == 0) continue;
    const std::size_t held = copy.recent.size();
    CHECK(held >= std::min<std::size_t>(i + 1, GroupModels::recent_rows / 2));
    CHECK(held <= GroupModels::recent_rows);
    for (std::size_t row = 0; row < held; ++row)
      CHECK(copy.recent.responses[row] == static_cast<double>(i + 1 - held + row));
  }
}

TEST_CASE("models come back from their bytes and go on as if nothing had been") {
  GroupModels live = models();
  Fed fed(5);
  fed.feed(live, {"a", "b"}, 990);
  fed.feed(live, {"a", "c"}, 60);  // a has grown, b and c have not
  const Bytes bytes = live.encode();
  GroupModels restored = models();
  REQUIRE(restored.restore(bytes));
  CHECK(restored.encode() == bytes);
  CHECK(restored.names() == std::vector<std::string>{"a", "b", "c"});
  CHECK(restored.take_touched().size() == 3);
  Fed more(6);
  Fed again(6);
  more.feed(live, {"b", "d", "a"}, 300);
  again.feed(restored, {"b", "d", "a"}, 300);
  CHECK(restored.encode() == live.encode());
}

TEST_CASE("damaged bytes, and those of another model, are refused") {
  GroupModels live = models();
  Fed(2).feed(live, {"a", "b"}, 40);
  Fed(2).feed(live, {"a"}, 1000);
  const Bytes bytes = live.encode();
  for (std::size_t length = 0; length < bytes.size(); length += 1 + bytes.size() / 300) {
    GroupModels empty = models();
    CHECK_FALSE(empty.restore(std::span(bytes).first(length)));
  }
  EstimatorSettings other = settings_of();
  other.state.layout = {3, 0};
  GroupModels wider(other, {.enabled = true});
  CHECK_FALSE(wider.restore(bytes));
}

TEST_CASE("a group is a level of the topic or the sensor; without a name, or one too many, it is refused") {
  GroupModels by_level = models(2);
  CHECK(by_level.refusal({"plant", "a"}) == std::string("bad_group"));
  CHECK(by_level.refusal({"plant/" + std::string(300, 'x'), "a"}) == std::string("bad_group"));
  Fed(1).feed(by_level, {"a", "b"}, 1);
  CHECK(by_level.refusal({"plant/a", ""}) == nullptr);
  CHECK(by_level.refusal({"plant/c", ""}) == std::string("too_many_models"));
  GroupModels by_sensor = models(2, 0);
  Fed(1).feed(by_sensor, {"a"}, 1);
  CHECK(by_sensor.names() == std::vector<std::string>{"a"});
  CHECK(by_sensor.refusal({"plant/x", ""}) == std::string("bad_group"));
}

TEST_CASE("a memory that fades holds moments from the first row on") {
  EstimatorSettings settings = settings_of();
  settings.state.memory = {Memory::Kind::half_life_rows, 5000.0};
  GroupModels groups(settings, {.enabled = true, .level = 2});
  Fed(1).feed(groups, {"a"}, 3);
  CHECK(groups.take_touched().at(0).grown);
  CHECK(groups.copy_of("a").grown->state().row_count() == 3);
}
