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

/// Makes the calling thread, and no other, less urgent by ten steps of nice. Where the system does not let
/// it, nothing changes.
inline void give_way() noexcept {
  constexpr int steps = 10;
  constexpr int last = 19;
  const int now = ::getpriority(PRIO_PROCESS, 0);  // on Linux of the thread
  ::setpriority(PRIO_PROCESS, static_cast<::id_t>(::gettid()), std::min(now + steps, last));
}

/// For a thread that sleeps, does a little and sleeps again: asks the scheduler for short slices of the
/// processor, as it gives those sooner. It gets no larger share. Otherwise a thread that is woken, by a
/// message or by the disk, may wait until the next tick for whoever computes on that core. Linux from 6.12 on
/// listens to this; where it does not, nothing changes.
inline void be_prompt() noexcept {
  struct Attributes {  // sched_attr of the kernel; the C library knows it only from 2.41 on
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } attributes{};
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.runtime = 100'000;  // nanoseconds: the shortest there is
  static_cast<void>(::syscall(SYS_sched_setattr, 0, &attributes, 0));
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
