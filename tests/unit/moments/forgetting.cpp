#include "mixstream/moments/forgetting.hpp"

#include <doctest/doctest.h>

#include "support/streams.hpp"

using namespace mixstream;
using streams::Stream;

namespace {

MomentState state_with_half_life(double seconds, const Stream& stream, bool pilot_given = false) {
  StateSettings settings = streams::settings_for(stream);
  settings.memory = {Memory::Kind::half_life_seconds, seconds};
  MomentState state = streams::make_state(settings);
  if (pilot_given) REQUIRE(state.set_pilot(Pilot::identity(stream.layout.variables())));
  return state;
}

double total_weight(const MomentState& state) {
  return state.moments().total_weight();
}

}  // namespace

TEST_CASE("a half-life halves: in rows, in seconds, forwards and backwards in time") {
  const Stream stream = streams::random_stream(2000, 3, {.first_time = 1.7e9});
  for (const double half_life : {0.01, 1.0, 7.5, 300.0, 1e6}) {
    for (const Memory::Kind kind : {Memory::Kind::half_life_rows, Memory::Kind::half_life_seconds}) {
      if (kind == Memory::Kind::half_life_seconds && half_life < 0.1) continue;  // every row would be a jump
      StateSettings settings = streams::settings_for(stream);
      settings.memory = {kind, half_life};
      const MomentState state = streams::filled(settings, stream);
      std::vector<double> weights = stream.weights;
      for (std::size_t i = 0; i < weights.size(); ++i)
        weights[i] *= std::exp2((static_cast<double>(i) - 1999.0) / half_life);
      CHECK(streams::worst_error(state.moments(), stream, weights) < 1e-12);
    }
  }
}

TEST_CASE("rows a little out of order count by their own time") {
  Stream stream = streams::random_stream(1000, 4, {.first_time = 5e8});
  std::mt19937_64 random(8);
  for (std::size_t i = 0; i + 20 < stream.size(); i += 20)
    std::shuffle(stream.times.begin() + static_cast<long>(i),
                 stream.times.begin() + static_cast<long>(i + 20), random);
  MomentState state = state_with_half_life(10.0, stream);
  streams::absorb(state, stream, 0, stream.size());
  std::vector<double> weights = stream.weights;
  const double now = 5e8 + 999.0;
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] *= std::exp2((stream.times[i] - now) / 10.0);
  CHECK(streams::worst_error(state.moments(), stream, weights) < 1e-12);
}

TEST_CASE("one absurd time is refused and wipes nothing") {
  const Stream stream = streams::random_stream(400, 5, {.first_time = 1.7e9});
  for (const bool pilot_given : {false, true}) {
    for (const double absurd : {4.3e9, 1e12, 1e45, 0.0, -1e45}) {
      for (const std::size_t when : {10U, 100U, 399U}) {  // in the first block and after it
        MomentState clean = state_with_half_life(3600.0, stream, pilot_given);
        MomentState state = clean;
        for (std::size_t i = 0; i < stream.size(); ++i) {
          Row row = stream.row(i);
          if (i == when) row.time = absurd;
          state.absorb(row);
          if (i != when) clean.absorb(stream.row(i));
        }
        CHECK(state.row_counts()[static_cast<std::size_t>(RowFault::clock_jump)] == 1);
        CHECK(state.row_count() == 399);
        CHECK(total_weight(state) == doctest::Approx(total_weight(clean)).epsilon(0.01));
      }
    }
  }
}

TEST_CASE("a wrong first time holds up sixteen rows, not the stream") {
  const Stream stream = streams::random_stream(400, 6, {.weighted = false, .first_time = 1.7e9});
  for (const double absurd : {4.3e9, 1e12, 0.0}) {
    MomentState state = state_with_half_life(3600.0, stream, true);
    Row first = stream.row(0);
    first.time = absurd;
    CHECK(state.absorb(first) == RowFault::none);
    for (std::size_t i = 1; i < stream.size(); ++i) state.absorb(stream.row(i));
    CHECK(state.row_counts()[static_cast<std::size_t>(RowFault::clock_jump)] == Forgetting::enough_rows - 1);
    CHECK(total_weight(state) == doctest::Approx(384.0).epsilon(0.05));
  }
}

TEST_CASE("a jump ahead that rows confirm makes the past old; one back makes it count as of now") {
  const Stream before = streams::random_stream(400, 7, {.weighted = false, .first_time = 1e6});
  const Stream gap = streams::random_stream(400, 8, {.weighted = false, .first_time = 9e6});
  MomentState state = state_with_half_life(1000.0, before);
  streams::absorb(state, before, 0, 400);
  const double past = total_weight(state);
  MomentState back = state;
  for (std::size_t i = 0; i < 400; ++i) state.absorb(gap.row(i));
  CHECK(state.row_count() == 785);
  CHECK(total_weight(state) < 385.0);
  CHECK(total_weight(state) > 300.0);
  for (std::size_t i = 0; i < 16; ++i) {
    Row row = gap.row(i);
    row.time = 1.0;
    CHECK((back.absorb(row) == RowFault::none) == (i == 15));
  }
  CHECK(total_weight(back) == doctest::Approx(past + 1.0));
}

TEST_CASE("clocks coarser than the half-life stay finite") {
  const Stream stream = streams::random_stream(300, 9);
  MomentState state = state_with_half_life(1e-9, stream, true);
  for (std::size_t i = 0; i < 3000; ++i) {
    Row row = stream.row(i % 300);
    row.time = 1e17 + 16.0 * static_cast<double>(i);
    state.absorb(row);
  }
  CHECK(state.row_count() > 100);
  CHECK(streams::all_finite(state.moments()));
}
