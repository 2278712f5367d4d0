// Sweeps: every call to the disk meets every fault.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "daemon/scenario.hpp"

namespace disk_shim {

inline const std::vector<Fault> errors{Fault::no_space, Fault::io_error, Fault::interrupted,
                                       Fault::short_write};
inline const std::vector<Survival> survivals{Survival::everything, Survival::nothing, Survival::names_only,
                                             Survival::bytes_only, Survival::random};

struct Sweep {
  int played = 0;
  int complaints = 0;
  std::string first;  // in words
};

/// Plays a life and adds its ending; whether the fault was met.
inline bool add(Sweep& sweep, const Scenario& scenario) {
  const Ending ending = play(scenario);
  ++sweep.played;
  if (!ending.complaint.empty() && ++sweep.complaints == 1)
    sweep.first = "call " + std::to_string(scenario.fault.at) + ", fault " +
                  std::to_string(static_cast<int>(scenario.fault.kind)) +
                  (scenario.fault.sticky ? " for good" : " once") + ", survival " +
                  std::to_string(static_cast<int>(scenario.survival)) + ", seed " +
                  std::to_string(scenario.seed) + ": " + ending.complaint;
  return ending.fault_fired;
}

/// Errors of the disk at every call, once and for good.
inline Sweep sweep_errors(const Scenario& base = {}) {
  Sweep sweep;
  play(base);
  const int calls = disk.calls;
  for (const Fault kind : errors) {
    for (const bool sticky : {false, true}) {
      if (sticky && kind == Fault::interrupted) continue;  // for ever interrupted: not a state of affairs
      for (int at = 0; at < calls; ++at) {
        Scenario scenario = base;
        scenario.fault = {kind, at, sticky};
        add(sweep, scenario);
      }
    }
  }
  return sweep;
}

/// A crash before every call, and every way for the unsynced to survive it; `seeds` of the random way.
inline Sweep sweep_crashes(const Scenario& base = {}, unsigned seeds = 1) {
  Sweep sweep;
  for (const Survival survival : survivals) {
    for (unsigned seed = 0; seed < (survival == Survival::random ? seeds : 1); ++seed) {
      Scenario scenario = base;
      scenario.survival = survival;
      scenario.fault = {Fault::crash, -1, true};
      do {
        ++scenario.fault.at;
        scenario.seed = seed * 1000 + static_cast<unsigned>(scenario.fault.at);
      } while (add(sweep, scenario));
    }
  }
  return sweep;
}

/// Two faults in one life, the second after a restart; all at random.
inline Sweep sweep_pairs(int lives, unsigned seed) {
  Sweep sweep;
  std::mt19937 random(seed);
  const auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  const auto fault = [&](int calls) {
    const int choice = pick(6);
    const Fault kind = choice < 4 ? errors[static_cast<std::size_t>(choice)] : Fault::crash;
    const bool sticky = kind == Fault::crash || (kind != Fault::interrupted && pick(2) == 0);
    return FaultPlan{kind, pick(calls), sticky};
  };
  play({});
  const int calls = disk.calls;
  for (int i = 0; i < lives; ++i) {
    Scenario scenario;
    scenario.fault = fault(calls);
    scenario.second = fault(80);
    scenario.survival = survivals[static_cast<std::size_t>(pick(5))];
    scenario.seed = random();
    scenario.damages_newest = pick(2) == 0;
    add(sweep, scenario);
  }
  return sweep;
}

}  // namespace disk_shim
