#include "ticker.hpp"

#include <utility>

namespace mixstream {

Ticker::Ticker(std::chrono::milliseconds period, std::function<void(Ticker&)> work)
    : period_(period), work_(std::move(work)), thread_([this] { run(); }) {}

Ticker::~Ticker() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Ticker::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    changed_.wait_for(lock, period_, [this] { return woken_ || ending_; });
    if (ending_) break;
    woken_ = false;
    working_ = true;
    began_ = Clock::now();
    lock.unlock();
    work_(*this);
    lock.lock();
    working_ = false;
  }
  ended_ = true;
  changed_.notify_all();
}

void Ticker::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

bool Ticker::stop(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  ending_ = true;
  changed_.notify_all();
  return changed_.wait_for(lock, patience, [this] { return ended_; });
}

void Ticker::come_around() {
  const std::lock_guard lock(mutex_);
  began_ = Clock::now();
}

std::chrono::milliseconds Ticker::busy() const {
  const std::lock_guard lock(mutex_);
  if (!working_) return std::chrono::milliseconds(0);
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_);
}

}  // namespace mixstream
