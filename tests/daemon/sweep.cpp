// Every call to the disk meets every fault, once and for good. After each of them: nothing acknowledged is
// lost, nothing is folded twice, and the daemon starts again.
#include <doctest/doctest.h>

#include <vector>

#include "daemon/scenario.hpp"

using namespace disk_shim;

namespace {

const std::vector<Fault> errors{Fault::no_space, Fault::io_error, Fault::interrupted, Fault::short_write};
const std::vector<Survival> survivals{Survival::everything, Survival::nothing, Survival::names_only,
                                      Survival::bytes_only, Survival::random};

struct Sweep {
  int played = 0;
  int complaints = 0;
  std::string first;
};

void add(Sweep& sweep, const Scenario& scenario, bool& fired) {
  const Ending ending = play(scenario);
  fired = fired || ending.fault_fired;
  ++sweep.played;
  if (ending.complaint.empty()) return;
  ++sweep.complaints;
  if (sweep.first.empty())
    sweep.first = "call " + std::to_string(scenario.fault.at) + ", fault " +
                  std::to_string(static_cast<int>(scenario.fault.kind)) +
                  (scenario.fault.sticky ? " for good" : " once") + ", survival " +
                  std::to_string(static_cast<int>(scenario.survival)) + ", seed " +
                  std::to_string(scenario.seed) + ": " + ending.complaint;
}

/// The most calls that a life without faults makes.
int calls_of_a_life() {
  play({});
  return disk.calls;
}

Sweep sweep_errors(Neglect neglect = {}, ProgramSettings program = {}) {
  Sweep sweep;
  const int calls = calls_of_a_life();
  for (const Fault kind : errors) {
    for (const bool sticky : {false, true}) {
      if (sticky && kind == Fault::interrupted) continue;  // for ever interrupted: not a state of affairs
      for (int at = 0; at < calls; ++at) {
        bool fired = false;
        add(sweep, {.fault = {kind, at, sticky}, .neglect = neglect, .program = program}, fired);
      }
    }
  }
  return sweep;
}

Sweep sweep_crashes(Neglect neglect = {}, ProgramSettings program = {}, unsigned seeds = 6) {
  Sweep sweep;
  for (const Survival survival : survivals) {
    for (unsigned seed = 0; seed < (survival == Survival::random ? seeds : 1); ++seed) {
      for (int at = 0;; ++at) {
        bool fired = false;
        add(sweep,
            {.fault = {Fault::crash, at, true},
             .survival = survival,
             .seed = seed * 1000 + static_cast<unsigned>(at),
             .neglect = neglect,
             .program = program},
            fired);
        if (!fired) break;
      }
    }
  }
  return sweep;
}

}  // namespace

TEST_CASE("a life without faults keeps every promise, and makes enough calls to be worth a sweep") {
  CHECK(play({}).complaint.empty());
  CHECK(disk.calls > 150);
}

TEST_CASE("errors at every call: nothing acknowledged is lost, nothing is folded twice") {
  const Sweep sweep = sweep_errors();
  MESSAGE(sweep.played << " lives");
  CHECK_MESSAGE(sweep.complaints == 0, sweep.first);
  CHECK(sweep.played > 1000);
}

TEST_CASE("crashes at every call, with and without what was not synced") {
  const Sweep sweep = sweep_crashes();
  MESSAGE(sweep.played << " lives");
  CHECK_MESSAGE(sweep.complaints == 0, sweep.first);
  CHECK(sweep.played > 1000);
}

TEST_CASE("an error, a restart without a reboot, then a crash") {
  Sweep sweep;
  std::mt19937 random(1);
  const int calls = calls_of_a_life();
  for (int i = 0; i < 3000; ++i) {
    bool fired = false;
    const auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
    const Fault first = errors[static_cast<std::size_t>(pick(4))];
    const Fault second = pick(2) == 0 ? Fault::crash : errors[static_cast<std::size_t>(pick(4))];
    const auto sticky = [&](Fault kind) {
      return kind == Fault::crash || (kind != Fault::interrupted && pick(2) == 0);
    };
    add(sweep,
        {.fault = {first, pick(calls), sticky(first)},
         .second = {second, pick(60), sticky(second)},
         .survival = survivals[static_cast<std::size_t>(pick(5))],
         .seed = static_cast<unsigned>(i)},
        fired);
  }
  CHECK_MESSAGE(sweep.complaints == 0, sweep.first);
}

// The tests' own tests: with a guard taken away, somebody must notice.

TEST_CASE("without the sync of files the sweep goes red") {
  CHECK(sweep_crashes({.file_sync = true}, {}, 1).complaints > 0);
}

TEST_CASE("without the sync of folders the sweep goes red") {
  CHECK(sweep_crashes({.folder_sync = true}, {}, 1).complaints > 0);
}

TEST_CASE("without the deduplication the sweep goes red") {
  CHECK(sweep_crashes({}, {.deduplicates = false}, 1).complaints > 0);
}
