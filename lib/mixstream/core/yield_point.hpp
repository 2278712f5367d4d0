// Where a long computation lets others run: a time-sliced refit yields here, anything else passes by.
#pragma once

namespace mixstream {

/// A line of our source. (clang 14 has no std::source_location.)
struct YieldPlace {
  const char* file;
  unsigned line;
};

/// Called by whoever slices; the computation knows nothing of it.
struct Yielder {
  virtual void pass(YieldPlace where) = 0;

 protected:
  ~Yielder() = default;
};

/// How many stretches are under way on this thread that must be ended once begun: there a yielder may let
/// others run, but not throw.
inline thread_local constinit int unbreakable_stretches = 0;

struct UnbreakableStretch {
  UnbreakableStretch() noexcept { ++unbreakable_stretches; }
  UnbreakableStretch(const UnbreakableStretch&) = delete;
  UnbreakableStretch& operator=(const UnbreakableStretch&) = delete;
  ~UnbreakableStretch() { --unbreakable_stretches; }
};

/// The slicer of this thread, or none.
inline thread_local constinit Yielder* present_yielder = nullptr;

/// To be called in loops whose rounds take some ten microseconds. One load and one branch when nobody slices.
inline void yield_point(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
  if (present_yielder != nullptr) present_yielder->pass({file, line});
}

}  // namespace mixstream
