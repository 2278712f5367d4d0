// Where a long computation lets others run: a time-sliced refit yields here, anything else passes by.
#pragma once

#include <source_location>

namespace mixstream {

/// Called by whoever slices; the computation knows nothing of it.
struct Yielder {
  virtual void pass(std::source_location where) = 0;

 protected:
  ~Yielder() = default;
};

/// The slicer of this thread, or none.
inline thread_local constinit Yielder* present_yielder = nullptr;

/// To be called in loops whose rounds take some ten microseconds. One load and one branch when nobody slices.
inline void yield_point(std::source_location where = std::source_location::current()) {
  if (present_yielder != nullptr) present_yielder->pass(where);
}

}  // namespace mixstream
