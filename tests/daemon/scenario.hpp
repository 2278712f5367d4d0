// One life of a stream on a disk that fails: filled, snapshotted, restarted, hit, recovered, and judged.
#pragma once

#include <string>

#include "daemon/disk.hpp"
#include "daemon/program.hpp"

namespace disk_shim {

struct Scenario {
  FaultPlan fault;
  FaultPlan second{};  // met after the first restart
  Survival survival = Survival::nothing;
  unsigned seed = 0;
  bool damages_newest = false;  // a bit of the newest snapshot turns before the last restart
  Neglect neglect{};
  ProgramSettings program{};
};

struct Ending {
  std::string complaint;  // empty: every promise was kept
  bool fault_fired = false;
};

/// Starts the program, in three tries at most.
inline bool start(Program& program) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (program.start()) return true;
  }
  return false;
}

/// Messages [begin, end), some of them two at once, in three tries at most, and snapshots behind some.
inline void deliver(Program& program, int begin, int end) {
  for (int number = begin; number < end && program.runs(); ++number) {
    const int count = number % 5 == 1 && number + 1 < end ? 2 : 1;
    bool taken = false;
    for (int attempt = 0; attempt < 3 && !taken; ++attempt) taken = program.take(number, count);
    number += count - 1;
    if (number % 4 == 3) program.snapshot();
  }
}

/// What the source still holds, and the last few although they were acknowledged: acknowledgements get lost.
inline void redeliver(Program& program) {
  for (const int number : std::set<int>(program.sent())) {
    const bool recent = number + 5 > *program.sent().rbegin();
    if (!program.acknowledged().contains(number) || recent) {
      if (!program.take(number)) program.complain("a healthy disk refused a message");
    }
  }
  program.judge();
}

/// Turns a bit of the newest snapshot, if there is one.
inline void damage_newest_snapshot() {
  std::string newest;
  for (const std::string& name : disk.names("/disk/stream")) {
    if (name.starts_with("snapshot-") && !name.ends_with(".tmp")) newest = "/disk/stream/" + name;
  }
  if (newest.empty()) return;
  std::string content = disk.content(newest);
  content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 4);
  disk.put(newest, content);
}

inline void start_healthy(Program& program) {
  if (!program.start()) program.complain("refused to start on a healthy disk");
}

/// On a disk that works again, without a restart: appends work again and health is good.
inline void go_on_healthy(Program& program, int number) {
  disk.clear_faults();
  if (!program.runs()) return;
  if (!program.take(number)) program.complain("still refuses although the disk works again");
  if (!program.snapshot()) program.complain("no snapshot although the disk works again");
  if (!program.store().health().ok) program.complain("still unhealthy although the disk works again");
}

inline Ending play(const Scenario& scenario) {
  Ending ending;
  disk.format();
  disk.neglect = scenario.neglect;
  disk.fault = scenario.fault;
  Program program(scenario.program);
  if (start(program)) deliver(program, 0, 10);
  program.stop();
  if (start(program)) deliver(program, 10, 22);
  ending.fault_fired = disk.fault_fired();
  if (disk.crashed()) {
    disk.lose_power(scenario.survival, scenario.seed);
  } else {
    go_on_healthy(program, 22);
    disk.kill_program();
  }
  program.stop();
  if (scenario.second.kind != Fault::none) {
    disk.calls = 0;
    disk.fault = scenario.second;
    if (start(program)) deliver(program, 23, 30);
    const bool crashed = disk.crashed();
    disk.kill_program();
    disk.clear_faults();
    if (crashed) disk.lose_power(scenario.survival, scenario.seed + 1);
    program.stop();
  }
  if (scenario.damages_newest) damage_newest_snapshot();
  start_healthy(program);
  if (program.runs()) {
    redeliver(program);
    deliver(program, 30, 35);
    disk.kill_program();
    program.stop();
    disk.lose_power(Survival::nothing, 0);
    start_healthy(program);
  }
  if (program.runs() && program.folded().size() != program.sent().size())
    program.complain("not every message was folded in the end");
  program.stop();
  ending.complaint = program.complaint();
  return ending;
}

}  // namespace disk_shim
