// Who waits for whom when threads outnumber cores: solves give way, rows are taken in at once.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <future>
#include <thread>
#include <utility>

namespace mixstream {

/// Asks for slices of the processor of so many nanoseconds, 0.1 to 100 ms, for the calling thread. It changes
/// no share: who asks for short ones is served sooner when it wakes, and at once where somebody runs who
/// asked for longer ones. Linux from 6.12 on listens to this; where it does not, nothing changes.
inline void ask_for_slices(std::uint64_t nanoseconds) noexcept {
  struct Attributes {  // sched_attr of the kernel, which the C library knows only from 2.41 on
    std::uint32_t size = 0;
    std::uint32_t policy = 0;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime = 0;
    std::uint64_t deadline = 0;
    std::uint64_t period = 0;
  } attributes;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.runtime = nanoseconds;
  static_cast<void>(::syscall(SYS_sched_setattr, 0, &attributes, 0));
}

/// For a thread that sleeps, does a little and sleeps again. Otherwise, when it is woken by a message or by
/// the disk, it may wait until the next tick for whoever computes on that core.
inline void be_prompt() noexcept {
  ask_for_slices(100'000);
}

/// Makes the calling thread, and no other, less urgent: by ten steps of nice, and by long slices, so that
/// whoever wakes (the kernel's threads that serve the disk, too) need not wait for this one's to end. Where
/// the system does not let it, nothing changes.
inline void give_way() noexcept {
  constexpr int steps = 10;
  constexpr int last = 19;
  const int now = ::getpriority(PRIO_PROCESS, 0);  // on Linux of the thread
  ::setpriority(PRIO_PROCESS, static_cast<::id_t>(::gettid()), std::min(now + steps, last));
  ask_for_slices(100'000'000);
}

/// The result of the work, done in a thread that gives way; waits for it, and throws what it throws. A thread
/// cannot become more urgent again, so each call has its own. Not while holding a lock: others would wait for
/// a thread that waits for everybody.
template <class Work>
auto in_background(Work work) {
  std::packaged_task<decltype(work())()> task([&work] {
    give_way();
    return work();
  });
  auto result = task.get_future();
  std::thread(std::move(task)).join();
  return result.get();
}

}  // namespace mixstream
