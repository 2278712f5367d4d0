// A computation on a stack of its own, worked off in slices of time on the caller's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace mixstream {

/// One computation at a time, on one thread. A computation left unfinished is dropped with its stack: what it
/// holds is not destroyed, so finish it or leave the program.
class Fiber {
 public:
  /// Allocates the stack, and a guard page below it: an overflow ends the program instead of spoiling memory.
  explicit Fiber(std::size_t stack_bytes);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  bool running() const noexcept;
  /// Begins a computation, which must not throw; its first slice comes with run.
  void begin(std::function<void()> work);
  /// Works until the computation ends (true) or stands at a yield point from which it would go beyond the
  /// budget (false): that the stretches from there took so long of late is remembered for every yield point.
  /// At least one stretch is done whatever the budget.
  bool run(std::chrono::nanoseconds budget);

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace mixstream
