// Other programs, with what they cost.
#pragma once

#include <string>
#include <vector>

namespace experiments {

struct Measured {
  int status = -1;                 ///< exit code; -1: not started or ended by a signal
  double processor_seconds = 0.0;  ///< user and system
  double peak_bytes = 0.0;         ///< largest resident set
  std::string output;              ///< its standard output
};

/// Runs a program and measures it. A process inherits its parent's peak memory when it is started, so a fresh
/// copy of this program stands between and starts it: `experiments measured REPORT PROGRAM WORD...`.
Measured run_measured(const std::vector<std::string>& words);

/// What that copy does. Returns its exit code.
int be_measured(int count, char** words);

/// The path of this program.
std::string own_path();

}  // namespace experiments
