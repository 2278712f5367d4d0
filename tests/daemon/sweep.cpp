// Every call to the disk meets every fault, once and for good. After each of them: nothing acknowledged is
// lost, nothing is folded twice, and the daemon starts again.
#include "daemon/sweep.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace disk_shim;

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
  const Sweep sweep = sweep_crashes({}, 6);
  MESSAGE(sweep.played << " lives");
  CHECK_MESSAGE(sweep.complaints == 0, sweep.first);
  CHECK(sweep.played > 1000);
}

TEST_CASE("whatever happened before, the newest snapshot can be lost and nothing is") {
  const Sweep after_errors = sweep_errors({.damages_newest = true});
  CHECK_MESSAGE(after_errors.complaints == 0, after_errors.first);
  const Sweep after_crashes = sweep_crashes({.damages_newest = true});
  CHECK_MESSAGE(after_crashes.complaints == 0, after_crashes.first);
}

TEST_CASE("two faults in one life, the second after a restart") {
  const char* const lives = std::getenv("MIXSTREAM_LIVES");
  const Sweep sweep = sweep_pairs(lives == nullptr ? 3000 : std::atoi(lives), 1);
  CHECK_MESSAGE(sweep.complaints == 0, sweep.first);
}

// The tests' own tests: with a guard taken away, somebody must notice. The checksum: unchecked.cpp.

TEST_CASE("without the sync of files the sweep goes red") {
  CHECK(sweep_crashes({.neglect = {.file_sync = true}}).complaints > 0);
}

TEST_CASE("without the sync of folders the sweep goes red") {
  CHECK(sweep_crashes({.neglect = {.folder_sync = true}}).complaints > 0);
}

TEST_CASE("without the deduplication the sweep goes red") {
  CHECK(sweep_crashes({.program = {.deduplicates = false}}).complaints > 0);
}
