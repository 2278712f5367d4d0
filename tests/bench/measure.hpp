// Times for benchmarks: rivals take turns in one run and each keeps its best turn, so that what else the
// machine does disturbs their ratio little.
#pragma once

#include <ctime>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

namespace bench {

/// Processor time of this thread: what other programs take of the core does not count.
inline double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline double seconds_of(const std::function<void()>& work) {
  const double start = thread_seconds();
  work();
  return thread_seconds() - start;
}

/// Best seconds of one call of each rival, over `rounds` turns of at least `turn_seconds`.
inline std::vector<double> best_seconds(const std::vector<std::function<void()>>& rivals, int rounds = 15,
                                        double turn_seconds = 0.01) {
  std::vector<double> best(rivals.size(), std::numeric_limits<double>::infinity());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < rivals.size(); ++i) {
      for (double spent = 0.0; spent < turn_seconds;) {
        const double seconds = seconds_of(rivals[i]);
        if (seconds > 0.0) best[i] = std::min(best[i], seconds);  // a virtual machine's clock may stand still
        spent += seconds;
      }
    }
  }
  return best;
}

/// Tells the optimiser that the value is read.
inline void keep(const void* value) {
  asm volatile("" : : "g"(value) : "memory");
}

}  // namespace bench
