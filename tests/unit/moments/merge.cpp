// Merging states against brute force over all their rows.
#include <doctest/doctest.h>

#include "mixstream/moments/state.hpp"
#include "support/streams.hpp"

using namespace mixstream;
using streams::Stream;

namespace {

struct Part {
  std::size_t rows;
  streams::Kind kind;
};

/// Streams that fix very different pilots, or none yet (fewer rows than the first block's 32).
const std::vector<Part>& parts() {
  static const std::vector<Part> all{
      {500, {{2, 0}, 0.5, 1.0, true, 1000.0}},  {900, {{2, 0}, 40.0, 8.0, true, 1100.0}},
      {200, {{2, 0}, -7.0, 0.1, true, 1900.0}}, {20, {{2, 0}, 3.0, 2.0, true, 1200.0}},
      {9, {{2, 0}, -1.0, 0.5, true, 1950.0}},   {0, {}}};
  return all;
}

MomentState filled(const Memory& memory, const Stream& stream, std::uint64_t source) {
  StateSettings settings = streams::settings_for(stream);
  settings.memory = memory;
  MomentState state = streams::make_state(settings);
  state.begin_source(source);
  for (std::size_t i = 0; i < stream.size(); ++i) REQUIRE(state.absorb(stream.row(i)) == RowFault::none);
  return state;
}

/// Calls judge(merged, one's rows, two's rows) for every ordered pair of parts.
template <class Judge>
void for_each_pair(const Memory& memory, MergeAs as, Judge judge) {
  for (std::size_t a = 0; a < parts().size(); ++a) {
    for (std::size_t b = 0; b < parts().size(); ++b) {
      const Stream one =
          streams::random_stream(parts()[a].rows, 40 + static_cast<unsigned>(a), parts()[a].kind);
      const Stream two =
          streams::random_stream(parts()[b].rows, 50 + static_cast<unsigned>(b), parts()[b].kind);
      MomentState merged = filled(memory, one, 1);
      const MomentState other = filled(memory, two, 2);
      CAPTURE(a);
      CAPTURE(b);
      REQUIRE(merged.merge(other, as));
      CHECK(merged.row_count() == one.size() + two.size());
      judge(merged, one, two);
    }
  }
}

/// The two streams' rows, each with its weight times what `fade(stream, i)` says.
template <class Fade>
double merged_error(const MomentState& merged, const Stream& one, const Stream& two, Fade fade) {
  Stream all = one;
  all.add(two);
  std::vector<double> weights;
  for (const Stream* part : {&one, &two}) {
    for (std::size_t i = 0; i < part->size(); ++i) weights.push_back(part->weights[i] * fade(*part, i));
  }
  return streams::worst_error(merged.moments(), all, weights);
}

}  // namespace

TEST_CASE("states with different pilots merge to the moments of all rows") {
  for_each_pair({}, MergeAs::one_stream, [](const MomentState& merged, const Stream& one, const Stream& two) {
    CHECK(merged_error(merged, one, two, [](const Stream&, std::size_t) { return 1.0; }) < 1e-10);
  });
}

TEST_CASE("with a half-life in seconds, one stream's parts age by their own times") {
  constexpr double half_life = 100.0;
  for_each_pair({Memory::Kind::half_life_seconds, half_life}, MergeAs::one_stream,
                [](const MomentState& merged, const Stream& one, const Stream& two) {
                  double now = 0.0;
                  for (const double time : one.times) now = std::max(now, time);
                  for (const double time : two.times) now = std::max(now, time);
                  const auto fade = [now](const Stream& stream, std::size_t i) {
                    return std::exp2((stream.times[i] - now) / half_life);
                  };
                  CHECK(merged_error(merged, one, two, fade) < 1e-10);
                });
}

TEST_CASE("independent streams with a half-life each count from their own present") {
  constexpr double half_life = 60.0;
  const auto judge = [](const MomentState& merged, const Stream& one, const Stream& two) {
    const auto fade = [](const Stream& stream, std::size_t i) {  // rows stand one second apart
      return std::exp2((static_cast<double>(i) - static_cast<double>(stream.size() - 1)) / half_life);
    };
    CHECK(merged_error(merged, one, two, fade) < 1e-10);
  };
  for_each_pair({Memory::Kind::half_life_rows, half_life}, MergeAs::independent_streams, judge);
  for_each_pair({Memory::Kind::half_life_seconds, half_life}, MergeAs::independent_streams, judge);
}

TEST_CASE("windows of independent streams merge pane by pane") {
  for_each_pair({Memory::Kind::window_rows, 64.0, 8}, MergeAs::independent_streams,
                [](const MomentState& merged, const Stream& one, const Stream& two) {
                  const auto fade = [](const Stream& stream, std::size_t i) {
                    // full panes of 8 rows, and the active one
                    const std::size_t n = stream.size();
                    const std::size_t held = n <= 64 ? n : 56 + (n - 1) % 8 + 1;
                    return i + held >= n ? 1.0 : 0.0;
                  };
                  CHECK(merged_error(merged, one, two, fade) < 1e-10);
                });
}

TEST_CASE("a merged state goes on like one that saw all rows") {
  const Stream first = streams::random_stream(300, 61);
  const Stream second = streams::random_stream(400, 62, {.centre = 3.0, .spread = 0.3});
  const Stream later = streams::random_stream(500, 63);
  MomentState merged = filled({}, first, 1);
  REQUIRE(merged.merge(filled({}, second, 2)));
  for (std::size_t i = 0; i < later.size(); ++i) REQUIRE(merged.absorb(later.row(i)) == RowFault::none);
  Stream all = first;
  all.add(second);
  all.add(later);
  CHECK(streams::worst_error(merged.moments(), all) < 1e-11);
  CHECK(merged.sample().rows.size() == 16);
}

TEST_CASE("a fresh state is the identity of merging, bit for bit") {
  using Kind = Memory::Kind;
  for (const Memory memory : {Memory{}, Memory{Kind::half_life_rows, 50.0},
                              Memory{Kind::half_life_seconds, 50.0}, Memory{Kind::window_rows, 64.0, 8}}) {
    for (const std::size_t rows : {0U, 20U, 300U}) {
      const MomentState state = filled(memory, streams::random_stream(rows, 64), 0);
      const MomentState fresh = filled(memory, streams::random_stream(0, 64), 0);
      MomentState left = fresh;
      left.begin_source(0, state.next_position());
      MomentState right = state;
      REQUIRE(left.merge(state, MergeAs::independent_streams));
      REQUIRE(right.merge(fresh, MergeAs::independent_streams));
      CHECK(left == state);
      CHECK(right == state);
    }
  }
}

TEST_CASE("what does not describe the same thing is refused, and nothing changes") {
  const Stream stream = streams::random_stream(100, 65);
  const auto refuses = [&](auto change, const std::string& text) {
    StateSettings settings = streams::settings_for(stream);
    MomentState state = streams::filled(settings, stream);
    const MomentState before = state;
    change(settings);
    const Done done = state.merge(streams::make_state(settings));
    REQUIRE_FALSE(done);
    CHECK(done.refusal().reason == Reason::cannot_merge);
    CHECK_MESSAGE(done.refusal().text.find(text) != std::string::npos, done.refusal().text);
    CHECK(state == before);
  };
  refuses([](StateSettings& s) { s.layout = {3, 0}; }, "features");
  refuses([](StateSettings& s) { s.layout = {2, -1}; }, "features");
  refuses([](StateSettings& s) { s.feature_map = "1,t"; }, "features");
  refuses([](StateSettings& s) { s.response = "z"; }, "responses");
  refuses([](StateSettings& s) { s.memory = {Memory::Kind::half_life_seconds, 5.0}; }, "half-life");
  refuses([](StateSettings& s) { s.reservoir_rows = 17; }, "sample");
}

TEST_CASE("rows and windows do not merge as parts of one stream") {
  for (const Memory memory :
       {Memory{Memory::Kind::half_life_rows, 9.0}, Memory{Memory::Kind::window_rows, 64.0}}) {
    MomentState state = filled(memory, streams::random_stream(50, 66), 1);
    const Done done = state.merge(filled(memory, streams::random_stream(50, 67), 2));
    REQUIRE_FALSE(done);
    CHECK(done.refusal().text.find("independent") != std::string::npos);
  }
}

TEST_CASE("pilots too far apart to re-expand are refused, and nothing changes") {
  Stream stream = streams::random_stream(200, 68);
  Stream tiny = stream;
  for (std::size_t i = 0; i < 200; ++i) stream.responses[i] *= 1e42;
  for (std::size_t i = 0; i < 200; ++i) tiny.responses[i] *= 1e-42;
  tiny.add(Stream(tiny));
  MomentState state = filled({}, stream, 1);
  const MomentState before = state;
  const Done done = state.merge(filled({}, tiny, 2));
  REQUIRE_FALSE(done);
  CHECK(done.refusal().reason == Reason::numerical);
  CHECK(state == before);
}

TEST_CASE("refused rows are counted across a merge") {
  const Stream stream = streams::random_stream(40, 69);
  MomentState one = filled({}, stream, 1);
  MomentState two = filled({}, stream, 2);
  const double bad[2] = {1.0, std::nan("")};
  one.absorb({bad, 0.0});
  two.absorb({bad, 0.0});
  two.absorb({bad, 0.0});
  REQUIRE(one.merge(two));
  CHECK(one.row_counts()[static_cast<std::size_t>(RowFault::not_a_number)] == 3);
  CHECK(one.row_count() == 80);
}
