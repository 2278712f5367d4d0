// Work that gives way to everything else.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
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
