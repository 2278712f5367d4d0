// A pass over many streams is not one long piece of work: the watchdog times each of them.
#include "ticker.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

using namespace mixstream;
using namespace std::chrono_literals;

TEST_CASE("who comes around inside the work is timed anew; who does not is busy for long") {
  std::atomic<int> wanted = 0;
  std::atomic<int> done = 0;
  Ticker ticker(1ms, [&](Ticker& self) {
    for (int thing = 1; thing <= 3; ++thing) {
      while (wanted < thing) std::this_thread::sleep_for(1ms);
      self.come_around();
      done = thing;
    }
    while (wanted < 4) std::this_thread::sleep_for(1ms);
  });
  for (int thing = 1; thing <= 3; ++thing) {
    std::this_thread::sleep_for(60ms);
    CHECK(ticker.busy() >= 40ms);
    const auto before = std::chrono::steady_clock::now();
    wanted = thing;
    while (done < thing) std::this_thread::yield();
    const auto since = std::chrono::steady_clock::now() - before;
    CHECK(ticker.busy() <= std::chrono::ceil<std::chrono::milliseconds>(since) + 20ms);
  }
  wanted = 4;
  CHECK(ticker.stop(5s));
}
