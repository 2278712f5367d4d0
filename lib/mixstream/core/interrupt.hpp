// A computation that its caller may end: a question is asked at yield points, and a yes is thrown.
#pragma once

#include <chrono>

#include "mixstream/core/yield_point.hpp"

namespace mixstream {

/// Thrown at a yield point. No std::exception, so that nobody takes it for numbers that went wrong.
struct Interrupted {};

/// While it lives, solves of this thread ask `wanted(context)` every millisecond or so, and throw Interrupted
/// when it answers other than zero. A null question is not asked. Fits leave no trace then; what must be
/// ended once begun is ended first.
class Interrupter final : Yielder {
 public:
  using Question = int (*)(void* context);

  Interrupter(Question wanted, void* context) noexcept : wanted_(wanted), context_(context) {
    if (wanted_ != nullptr && present_yielder == nullptr) present_yielder = this;
  }
  Interrupter(const Interrupter&) = delete;
  Interrupter& operator=(const Interrupter&) = delete;
  ~Interrupter() {
    if (present_yielder == this) present_yielder = nullptr;
  }

 private:
  void pass(YieldPlace) override {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_ || unbreakable_stretches > 0) return;
    next_ = now + std::chrono::milliseconds(1);
    if (wanted_(context_) != 0) throw Interrupted{};
  }

  Question wanted_;
  void* context_;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace mixstream
