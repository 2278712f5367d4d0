// The stream's own threads on a disk that dies at every call: one takes messages, one solves, one keeps.
// Whatever they were at: nothing acknowledged is lost, nothing is folded twice, and the stream starts again.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "daemon/disk.hpp"
#include "daemon/stream_on_disk.hpp"

using namespace disk_shim;
using namespace std::chrono_literals;

namespace {

constexpr int messages = 20;  // no more rows than the window of sequence numbers

struct Life {
  int acknowledged = 0;
  bool fault_fired = false;
};

/// Plays until every message is taken or the disk has died.
Life play_with_threads(Stream& stream) {
  Life life;
  std::atomic<bool> ending = false;
  std::thread source([&] {
    for (int number = 0; number < messages && take(stream, number); ++number) life.acknowledged = number + 1;
    ending = true;
  });
  std::thread solver([&] {
    while (!ending) {
      if (stream.refit_is_due() || stream.request_refit()) stream.refit();
      std::this_thread::sleep_for(1ms);
    }
  });
  std::thread keeper([&] {
    while (!ending) {
      stream.keep_feedback(0ms);
      static_cast<void>(stream.snapshot());
      std::this_thread::sleep_for(1ms);
    }
  });
  while (!ending) {
    if (disk.crashed()) stream.give_up();
    std::this_thread::sleep_for(200us);
  }
  for (std::thread* thread : {&source, &solver, &keeper}) thread->join();
  life.fault_fired = disk.fault_fired();
  return life;
}

std::uint64_t folded(const Stream& stream) {
  return stream.view()->rows.folded;
}

/// What is wrong with the restarted stream, and with what it makes of all messages once more; empty: nothing.
std::string complaint_about(const Life& life) {
  auto opened = Stream::open(stream_config(), stream_folder);
  if (!opened) return opened.refusal().text;
  Stream& stream = *opened.value();
  const std::uint64_t held = folded(stream);
  if (held % rows_of_message != 0) return "half a message was folded";
  if (held < static_cast<std::uint64_t>(life.acknowledged * rows_of_message))
    return "an acknowledged message is lost";
  if (stream.view()->rows.missing != 0) return "there is a gap";
  for (int number = 0; number < messages; ++number) {
    if (!take(stream, number)) return "a healthy disk refused a message";
  }
  if (folded(stream) != messages * rows_of_message) return "not every message was folded once";
  return stream.view()->rows.refused_total() == 0 ? "" : "rows were refused";
}

struct Ending {
  bool fault_fired = false;
  std::string complaint;
};

/// One life with a fault at a call.
Ending live_once(const FaultPlan& plan, Survival survival, unsigned seed, const Neglect& neglect = {}) {
  disk.format();
  disk.neglect = neglect;
  disk.fault = plan;
  Life life;
  {
    auto opened = Stream::open(stream_config(), stream_folder);
    if (opened) life = play_with_threads(*opened.value());
    life.fault_fired = disk.fault_fired();
    disk.kill_program();
  }
  if (disk.crashed()) disk.lose_power(survival, seed);
  disk.clear_faults();
  return {life.fault_fired, complaint_about(life)};
}

}  // namespace

TEST_CASE("the disk dies at every call that the stream's threads make") {
  int lives = 0;
  for (const Survival survival : {Survival::nothing, Survival::everything, Survival::random}) {
    for (int call = 0; call < 260; ++call, ++lives) {
      const Ending ending = live_once({Fault::crash, call, true}, survival, static_cast<unsigned>(call));
      CHECK_MESSAGE(ending.complaint.empty(), "call " << call << ": " << ending.complaint);
      if (!ending.fault_fired) break;
    }
  }
  MESSAGE(lives << " lives");
  CHECK(lives > 150);
}

TEST_CASE("an error at some of the calls is waited out, and every row counts once") {
  for (int call = 3; call < 120; call += 13) {
    const Ending ending = live_once({Fault::no_space, call, false}, Survival::nothing, 0);
    CHECK_MESSAGE(ending.complaint.empty(), "call " << call << ": " << ending.complaint);
  }
}

TEST_CASE("without the sync of files the sweep goes red") {
  int complaints = 0;
  for (int call = 5; call < 80; call += 5)
    complaints +=
        live_once({Fault::crash, call, true}, Survival::nothing, 0, {.file_sync = true}).complaint.empty()
            ? 0
            : 1;
  CHECK(complaints > 0);
}
