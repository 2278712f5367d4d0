// What the system says about this process.
#pragma once

namespace mixstream::web {

struct ProcessFigures {
  double cpu_seconds;
  double resident_bytes;
  double open_descriptors;
  double most_descriptors;
};

/// NaN for what the system does not tell. Some microseconds.
ProcessFigures process_figures();

}  // namespace mixstream::web
