// What a fit feeds back travels in the record of the next message. Whatever the disk does to exactly that
// record: both are kept or neither, and a restart stands where the stream stood, bit for bit.
#include <doctest/doctest.h>
#include <fcntl.h>

#include <atomic>
#include <string>
#include <thread>

#include "daemon/disk.hpp"
#include "daemon/stream_on_disk.hpp"
#include "store/snapshot.hpp"

using namespace mixstream;
using namespace disk_shim;

namespace {

constexpr int messages_before_fit = 40;

void remove_for_good(const std::string& path) {
  REQUIRE(disk.unlink(path) == 0);
  const int folder = disk.open(stream_folder, O_RDONLY | O_DIRECTORY);
  REQUIRE(disk.sync(folder) == 0);
  disk.close(folder);
}

/// What the stream is now, by a snapshot that does not stay. Once in a life: two would shorten the journal.
std::vector<Section> state_of(Stream& stream) {
  REQUIRE(stream.snapshot());
  std::string newest;
  for (const std::string& name : disk.names(stream_folder)) {
    if (name.starts_with("snapshot-")) newest = std::string(stream_folder) + "/" + name;
  }
  const std::string content = disk.content(newest);
  StreamSnapshot snapshot = decode_stream_snapshot(std::as_bytes(std::span(content))).value();
  remove_for_good(newest);
  std::erase_if(snapshot.sections, [](const Section& section) { return section.type >= first_guest_type; });
  return snapshot.sections;
}

FoldCounts counts_of(const std::vector<Section>& state) {
  return Fold::restore(state, stream_config()).value().state().counts();
}

/// A stream on an empty disk that has made its first fit; nothing of the fit is on the disk yet.
std::unique_ptr<Stream> stream_with_fit() {
  disk.format();
  std::unique_ptr<Stream> stream = open_stream();
  for (int number = 0; number < messages_before_fit; ++number) REQUIRE(take(*stream, number));
  const int calls = disk.calls;
  stream->refit();
  REQUIRE(disk.calls == calls);  // the solver leaves the disk alone
  return stream;
}

std::vector<Section> state_after_restart(std::unique_ptr<Stream> stream) {
  disk.clear_faults();
  disk.kill_program();
  stream.reset();
  disk.lose_power(Survival::nothing, 0);
  return state_of(*open_stream());
}

}  // namespace

TEST_CASE("feedback goes to the disk with the next message: one write, one sync for both") {
  std::unique_ptr<Stream> stream = stream_with_fit();
  const int calls = disk.calls;
  REQUIRE(take(*stream, messages_before_fit));
  CHECK(disk.calls == calls + 2);
  const std::vector<Section> live = state_of(*stream);
  CHECK(counts_of(live).feedbacks == 1);
  CHECK(counts_of(live).folded == (messages_before_fit + 1) * rows_of_message);
  CHECK(state_after_restart(std::move(stream)) == live);
}

TEST_CASE("an error at the write or the sync of that record: it comes again, and counts once") {
  for (const Fault fault : {Fault::no_space, Fault::io_error, Fault::short_write}) {
    for (const int call : {0, 1}) {
      CAPTURE(static_cast<int>(fault));
      CAPTURE(call);
      std::unique_ptr<Stream> stream = stream_with_fit();
      disk.fault = {fault, disk.calls + call, false};
      REQUIRE(take(*stream, messages_before_fit));
      REQUIRE(take(*stream, messages_before_fit + 1));
      const std::vector<Section> live = state_of(*stream);
      CHECK(counts_of(live).feedbacks == 1);
      CHECK(counts_of(live).folded == (messages_before_fit + 2) * rows_of_message);
      CHECK(state_after_restart(std::move(stream)) == live);
    }
  }
}

TEST_CASE("a crash at that record leaves both or neither, and the rest as it was") {
  int both = 0;
  int neither = 0;
  for (const int call : {0, 1}) {
    for (const Survival survival : {Survival::everything, Survival::nothing, Survival::random}) {
      for (unsigned seed = 0; seed < (survival == Survival::random ? 8U : 1U); ++seed) {
        std::unique_ptr<Stream> stream = stream_with_fit();
        disk.fault = {Fault::crash, disk.calls + call, true};
        stream->give_up();  // it tries once
        REQUIRE_FALSE(take(*stream, messages_before_fit));
        stream.reset();
        disk.lose_power(survival, seed);
        disk.clear_faults();
        const FoldCounts counts = counts_of(state_of(*open_stream()));
        const bool is_whole = counts.feedbacks == 1;
        ++(is_whole ? both : neither);
        CHECK(counts.folded == (messages_before_fit + (is_whole ? 1 : 0)) * rows_of_message);
      }
    }
  }
  CHECK(both > 0);
  CHECK(neither > 0);
}

TEST_CASE("feedback that no message comes for is stored by itself, once") {
  std::unique_ptr<Stream> stream = stream_with_fit();
  const int calls = disk.calls;
  stream->keep_feedback(std::chrono::hours(1));
  CHECK(disk.calls == calls);
  stream->keep_feedback(std::chrono::seconds(0));
  stream->keep_feedback(std::chrono::seconds(0));
  CHECK(disk.calls == calls + 2);
  REQUIRE(take(*stream, messages_before_fit));
  const std::vector<Section> live = state_of(*stream);
  CHECK(counts_of(live).feedbacks == 1);
  CHECK(state_after_restart(std::move(stream)) == live);
}

TEST_CASE("a second fit without a row between builds on the first, and both are stored in order") {
  std::unique_ptr<Stream> stream = stream_with_fit();
  stream->refit();
  REQUIRE(take(*stream, messages_before_fit));
  const std::vector<Section> live = state_of(*stream);
  CHECK(counts_of(live).feedbacks == 2);
  CHECK(counts_of(live).feedbacks_refused == 0);
  CHECK(state_after_restart(std::move(stream)) == live);
}

TEST_CASE("a fit that rows make due waits until a message has taken the last one's feedback, or the keeper") {
  disk.format();
  const std::unique_ptr<Stream> stream = open_stream("refit_rows = 50\n");
  int number = 0;
  while (number < messages_before_fit) REQUIRE(take(*stream, number++));
  for (int attempt = 0; attempt < 50; ++attempt) {
    std::atomic<bool> solved = false;
    std::thread solver([&] {
      stream->refit();
      solved = true;
    });
    while (!solved) {
      CHECK(take(*stream, number++));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // most fits end while no message is taken
    }
    solver.join();
    const bool due = stream->refit_is_due();
    const int calls = disk.calls;
    stream->keep_feedback(std::chrono::seconds(0));
    const bool waited = disk.calls != calls;  // else the last message came behind the fit's end
    if (!waited || !stream->refit_is_due()) continue;
    CHECK_FALSE(due);
    REQUIRE(stream->request_refit());
    CHECK(stream->refit_is_due());
    return;
  }
  FAIL("no fit ended with rows that came meanwhile and its feedback still waiting");
}
