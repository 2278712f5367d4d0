// Results made by several threads and taken one after the other.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace mixstream {

/// make(0) to make(count - 1) on so many threads, each result handed to take on the caller's thread, in this
/// order; never more than three a thread are made and not taken. Ends early when take says false. make must
/// not throw.
template <class Make, class Take>
void make_in_turn(std::size_t threads, std::size_t count, Make make, Take take) {
  threads = std::min(threads, count);
  if (threads <= 1) {
    for (std::size_t i = 0; i < count && take(make(i)); ++i) {
    }
    return;
  }
  std::mutex guard;
  std::condition_variable changed;
  std::map<std::size_t, decltype(make(std::size_t{}))> made;  // and not taken
  std::size_t begun = 0;
  std::size_t taken = 0;
  const auto work = [&] {
    std::unique_lock lock(guard);
    for (;;) {
      changed.wait(lock, [&] { return begun >= count || begun < taken + 3 * threads; });
      if (begun >= count) return;
      const std::size_t mine = begun++;
      lock.unlock();
      auto result = make(mine);
      lock.lock();
      made.emplace(mine, std::move(result));
      changed.notify_all();
    }
  };
  std::vector<std::jthread> workers;
  for (std::size_t i = 0; i < threads; ++i) workers.emplace_back(work);
  std::unique_lock lock(guard);
  for (bool goes_on = true; goes_on && taken < count;) {
    changed.wait(lock, [&] { return made.contains(taken); });
    auto next = made.extract(taken);
    lock.unlock();
    goes_on = take(std::move(next.mapped()));
    lock.lock();
    ++taken;
    if (!goes_on) begun = count;
    changed.notify_all();
  }
}

}  // namespace mixstream
