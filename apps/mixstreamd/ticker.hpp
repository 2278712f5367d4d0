// A thread that does one thing again and again: every so often, and at once when woken.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace mixstream {

class Ticker {
 public:
  using Clock = std::chrono::steady_clock;

  Ticker(std::chrono::milliseconds period, std::function<void(Ticker&)> work);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  void wake();  ///< any thread; never waits for the work
  /// Ends the thread after what it does now. False: that took longer than `patience`, and it still goes on.
  bool stop(std::chrono::milliseconds patience);
  /// The work has done one of several things: what it does next is timed anew. From inside the work.
  void come_around();
  /// How long it has been at work since it last came around.
  std::chrono::milliseconds busy() const;

 private:
  void run();

  std::chrono::milliseconds period_;
  std::function<void(Ticker&)> work_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  bool ending_ = false;
  bool ended_ = false;
  bool working_ = false;
  Clock::time_point began_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace mixstream
