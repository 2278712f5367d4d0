// The same work for many, some of them at once: most of it waits for the disk, whose syncs then go together.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <vector>

namespace mixstream {

/// Calls work(0) to work(count - 1), each once, in threads of its own; returns when all are done, and throws
/// what one of them throws. `meanwhile` is called about once a second, in the calling thread.
template <class Work, class Meanwhile>
void side_by_side(std::size_t count, Work work, Meanwhile meanwhile) {
  constexpr std::size_t most_lanes = 16;
  std::atomic<std::size_t> next{0};
  const auto lane = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::future<void>> lanes;
  for (std::size_t i = 0; i < std::min(count, most_lanes); ++i)
    lanes.push_back(std::async(std::launch::async, lane));
  for (std::future<void>& done : lanes) {
    while (done.wait_for(std::chrono::seconds(1)) != std::future_status::ready) meanwhile();
  }
  for (std::future<void>& done : lanes) done.get();
}

}  // namespace mixstream
