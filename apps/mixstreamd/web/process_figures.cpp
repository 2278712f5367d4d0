#include "process_figures.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

namespace mixstream::web {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double whole = 0.0;
  double resident = 0.0;
  if (!(file >> whole >> resident)) return NAN;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double open_descriptors() {
  std::error_code error;
  double count = 0.0;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end;
       at.increment(error))
    ++count;
  return error ? NAN : count - 1.0;  // less the one that looks
}

}  // namespace

ProcessFigures process_figures() {
  rusage usage{};
  rlimit limit{};
  const bool used = getrusage(RUSAGE_SELF, &usage) == 0;
  const bool limited = getrlimit(RLIMIT_NOFILE, &limit) == 0;
  return {used ? seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime) : NAN, resident_bytes(),
          open_descriptors(), limited ? static_cast<double>(limit.rlim_cur) : NAN};
}

}  // namespace mixstream::web
