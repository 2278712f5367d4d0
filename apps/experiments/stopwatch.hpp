// Processor time, which other programs on the machine do not lengthen as they do the clock.
#pragma once

#include <ctime>

namespace experiments {

class Stopwatch {
 public:
  double processor_seconds() const noexcept { return now() - start_; }

 private:
  static double now() noexcept {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  double start_ = now();
};

}  // namespace experiments
