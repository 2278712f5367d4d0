// Live and replayed: the same state.
#include "store/stream_state.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "mixstream/estimator/feedback.hpp"
#include "store/store.hpp"
#include "support/folder.hpp"

using namespace mixstream;

namespace {

StreamStateSettings settings_of() {
  StreamStateSettings settings;
  settings.payload.map = FeatureMap::parse("1,t").value();
  settings.estimator.state.layout = {2, 0};
  settings.estimator.state.feature_map = "1,t";
  settings.estimator.state.response = "y";
  settings.estimator.state.reservoir_rows = 500;
  settings.estimator.solve.component_count = 2;
  return settings;
}

Message message(std::string_view text) {
  return {"topic", std::as_bytes(std::span(text)), 1.0};
}

/// Row i of a mixture of two lines, with a number of its own.
std::string row_text(int i) {
  const double t = -1.0 + 0.002 * (i * 37 % 1000);
  const double noise = 0.1 * ((i * 61 % 100) / 50.0 - 1.0);
  const double y = (i % 2 == 0 ? 1.0 + 2.0 * t : -1.0 - t) + noise;
  return R"({"t":)" + std::to_string(t) + R"(,"y":)" + std::to_string(y) + R"(,"seq":)" + std::to_string(i) +
         "}";
}

}  // namespace

TEST_CASE("every row is folded, a duplicate or refused by name") {
  StreamState state = StreamState::create(settings_of()).value();
  MessageEffect effect = state.apply(message(
      R"([{"t":1,"y":2,"seq":1},{"t":1,"y":2,"seq":1},{"t":"x","y":2,"seq":2},{"t":"x","y":2,"seq":2},{"t":1,"y":1e50},{"t":1,"y":2}])"));
  CHECK(effect.folded == 2);
  CHECK(effect.duplicate == 2);
  CHECK(effect.refused == 2);
  CHECK(effect.first_refusal == R"(row 3: field "t": "x" is not a number)");
  state.apply(Rejection{"topic", "line_too_long"});
  const FoldCounts& counts = state.counts();
  CHECK(counts.rows == 7);
  CHECK(counts.rows == counts.folded + counts.duplicate + counts.refused);
  CHECK(counts.unnumbered == 1);
  CHECK(counts.messages == 2);
  using Reasons = std::vector<std::pair<std::string, std::uint64_t>>;
  Reasons refused = state.refused();
  std::ranges::sort(refused);
  CHECK(refused == Reasons{{"line_too_long", 1}, {"not_a_number", 1}, {"too_large", 1}});
  CHECK(state.sensors().gaps() == 0);
}

TEST_CASE("a feature without a value is a refusal of its own, and a replay counts the same") {
  StreamStateSettings settings = settings_of();
  settings.payload.map = FeatureMap::parse("1,log(t)").value();
  settings.estimator.state.feature_map = "1,log(t)";
  StreamState state = StreamState::create(settings).value();
  const MessageEffect effect = state.apply(message(
      R"([{"t":1,"y":2,"seq":1},{"t":-1,"y":2,"seq":2},{"t":-2,"y":2,"seq":3},{"t":-1,"y":2,"seq":2}])"));
  CHECK(effect.folded == 1);
  CHECK(effect.refused == 2);
  CHECK(effect.duplicate == 1);
  CHECK(effect.first_refusal == "row 2: log(t): t is -1, and only positive numbers have a log");
  using Reasons = std::vector<std::pair<std::string, std::uint64_t>>;
  CHECK(state.refused() == Reasons{{"undefined_feature", 2}});
  CHECK(state.sensors().gaps() == 0);
  const auto restored = StreamState::restore(state.sections(), settings);
  REQUIRE_MESSAGE(restored, restored.refusal().text);
  CHECK(restored.value().refused() == Reasons{{"undefined_feature", 2}});
}

TEST_CASE("a wrong clock that is found out only when the first block ends leaves counts that add up") {
  StreamStateSettings settings = settings_of();
  settings.estimator.state.memory = {Memory::Kind::half_life_seconds, 3600.0};
  settings.estimator.state.pilot_rows = 256;
  StreamState state = StreamState::create(settings).value();
  for (int i = 0; i < 300; ++i) {
    const std::string text = row_text(i);
    state.apply(Message{"topic", std::as_bytes(std::span(text)), i == 10 ? 0.0 : 1e9 + i});
  }
  CHECK(state.counts().refused == 1);
  CHECK(state.counts().folded == 299);
  const auto restored = StreamState::restore(state.sections(), settings);
  REQUIRE_MESSAGE(restored, restored.refusal().text);
  CHECK(restored.value().counts() == state.counts());
}

TEST_CASE("rows that name no sensor belong to their topic") {
  StreamState state = StreamState::create(settings_of()).value();
  const std::string text = R"({"t":1,"y":2,"seq":1})";
  const auto bytes = std::as_bytes(std::span(text));
  CHECK(state.apply(Message{"a", bytes, 0.0}).folded == 1);
  CHECK(state.apply(Message{"b", bytes, 0.0}).folded == 1);
  CHECK(state.apply(Message{"a", bytes, 0.0}).duplicate == 1);
}

TEST_CASE("a stopped and resumed stream equals one that never stopped, feedback included") {
  const TemporaryFolder folder;
  const StoreSettings store_settings{.folder = folder.path + "/stream",
                                     .configuration = fingerprint(settings_of())};
  StreamState continuous = StreamState::create(settings_of()).value();
  int sent = 0;
  for (int run = 0; run < 4; ++run) {
    Outcome<std::unique_ptr<Store>> opened = Store::open(store_settings);
    REQUIRE(opened);
    Store& store = *opened.value();
    const auto& snapshot = store.recovered().snapshot;
    StreamState state = snapshot ? StreamState::restore(snapshot->sections, settings_of()).value()
                                 : StreamState::create(settings_of()).value();
    REQUIRE(store.replay([&](const Record& record) { return state.apply(record); }));
    CHECK(state.sections() == continuous.sections());
    for (int i = 0; i < 400; ++i, ++sent) {
      const std::string text = row_text(sent);
      Bytes bytes;
      if (i == 250 || i == 300) {
        Estimator copy = state.estimator();
        bytes = copy.fit_apart().feedback.encode();
      }
      const Feedback feedback{state.estimator().state().row_count(), bytes};
      if (i == 300) {
        const FedMessage fed{feedback, message(text)};
        REQUIRE(store.append(fed));
        CHECK(state.apply(fed));
        CHECK(continuous.apply(fed));
        continue;
      }
      if (i == 250) {
        REQUIRE(store.append(feedback));
        CHECK(state.apply(feedback));
        CHECK(continuous.apply(feedback));
      }
      REQUIRE(store.append(message(text)));
      state.apply(message(text));
      continuous.apply(message(text));
      if (i == 150 && run % 2 == 1) REQUIRE(store.write_snapshot(store.begin_snapshot(state.sections())));
    }
    CHECK(state.sections() == continuous.sections());
  }
  CHECK(continuous.counts().feedbacks == 8);
  CHECK(continuous.counts().folded == 1600);
}

TEST_CASE("feedback of another row than the state's is refused") {
  StreamState state = StreamState::create(settings_of()).value();
  state.apply(message(row_text(0)));
  CHECK_FALSE(state.apply(Feedback{5, {}}));
  CHECK_FALSE(state.apply(Feedback{1, {}}));  // no bytes that FitFeedback made
}

TEST_CASE("sections that are missing or do not add up are refused") {
  StreamState state = StreamState::create(settings_of()).value();
  for (int i = 0; i < 10; ++i) state.apply(message(row_text(i)));
  const std::vector<Section> sections = state.sections();
  REQUIRE(StreamState::restore(sections, settings_of()));
  for (std::size_t i = 0; i < 3; ++i) {  // the others are younger than the first states
    std::vector<Section> fewer = sections;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK_FALSE(StreamState::restore(fewer, settings_of()));
  }
  std::vector<Section> changed = sections;
  changed[2].bytes[16] ^= std::byte{1};
  CHECK_FALSE(StreamState::restore(changed, settings_of()));
}

TEST_CASE("the fingerprint tells configurations apart") {
  const std::uint64_t one = fingerprint(settings_of());
  StreamStateSettings other = settings_of();
  other.payload.sequence = "number";
  CHECK(fingerprint(other) != one);
  other = settings_of();
  other.payload.columns = {"t", "y"};
  CHECK(fingerprint(other) != one);
  CHECK(fingerprint(settings_of()) == one);
}
