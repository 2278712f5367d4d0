// A flag that threads waiting in poll() see.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace mixstream {

class Wake {
 public:
  Wake() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Wake() { ::close(descriptor_); }
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  void raise() noexcept {
    raised_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
  }
  bool raised() const noexcept { return raised_; }
  ::pollfd poll_entry() const noexcept { return {descriptor_, POLLIN, 0}; }

 private:
  std::atomic<bool> raised_{false};
  int descriptor_;
};

}  // namespace mixstream
