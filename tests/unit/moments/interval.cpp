// Rows given away in intervals make the same state as rows absorbed in one.
#include <doctest/doctest.h>

#include <limits>

#include "support/states.hpp"
#include "support/streams.hpp"

using namespace mixstream;

namespace {

/// Absorbs the stream into intervals, each given away after `length` rows, and appends them.
MomentState in_intervals(const StateSettings& settings, const streams::Stream& stream, std::size_t length) {
  MomentState total = streams::make_state(settings);
  MomentState front = streams::make_state(settings);
  MomentState spare = streams::make_state(settings);
  spare.prepare_interval(total);
  for (std::size_t i = 0; i < stream.size(); ++i) {
    front.absorb(stream.row(i));
    if ((i + 1) % length != 0 || !front.pilot_is_fixed()) continue;
    spare.continue_from(front);
    std::swap(spare, front);
    total.append(spare);
    spare.prepare_interval(total);
  }
  total.append(front);
  return total;
}

}  // namespace

TEST_CASE("whole numbers in intervals make exactly the moments and the sample of one run") {
  const streams::Stream stream = streams::whole_stream(1500, 3);
  for (Memory memory :
       {Memory{}, Memory{Memory::Kind::window_rows, 400.0, 8}, Memory{Memory::Kind::window_rows, 90.0, 3}}) {
    StateSettings settings = streams::settings_for(stream);
    settings.memory = memory;
    const MomentState once = streams::filled(settings, stream);
    for (const std::size_t length : {1U, 7U, 64U, 333U, 1000U}) {
      CAPTURE(length);
      CAPTURE(memory.length);
      const MomentState parts = in_intervals(settings, stream, length);
      CHECK(parts.moments().sums() == once.moments().sums());
      CHECK(parts.sample().rows == once.sample().rows);
      CHECK(parts.row_counts() == once.row_counts());
      CHECK(parts.bin_rows() == once.bin_rows());
      CHECK(parts.next_position() == once.next_position());
    }
  }
}

TEST_CASE("intervals follow every memory: forgetting, clocks, tails, refused rows") {
  for (const Memory& memory : states::every_memory()) {
    streams::Stream stream = states::stream_with_tails(2000, 9, 1e6);
    stream.responses[500] = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 1500; i < stream.size(); ++i) stream.times[i] -= 9e5;  // the clock is set back
    StateSettings settings = streams::settings_for(stream);
    settings.memory = memory;
    MomentState once = streams::make_state(settings);
    for (std::size_t i = 0; i < stream.size(); ++i) once.absorb(stream.row(i));
    for (const std::size_t length : {1U, 50U, 700U}) {
      CAPTURE(length);
      CAPTURE(memory.length);
      const MomentState parts = in_intervals(settings, stream, length);
      CHECK(streams::worst_difference(parts.moments(), once.moments()) < 1e-12);
      CHECK(parts.moments().effective_rows == doctest::Approx(once.moments().effective_rows));
      CHECK(parts.sample().rows.responses == once.sample().rows.responses);
      CHECK(parts.row_counts() == once.row_counts());
      CHECK(parts.forgetting() == once.forgetting());
    }
  }
}
