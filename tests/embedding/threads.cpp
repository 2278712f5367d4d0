// A loop thread at full speed and a solver thread: for ThreadSanitizer, and for the law that no row is lost.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "mixstream/moments/state.hpp"
#include "unit/loop/loop_rows.hpp"

using namespace mixstream;

int main(int argc, char** argv) {
  const std::uint64_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 60000;
  LoopSettings settings = loop_rows::settings();
  settings.policy.every_rows = 3000;
  SensorLoop loop = SensorLoop::create(settings).value();
  std::atomic<bool> running{true};
  std::uint64_t refits = 0;
  std::thread solver([&] {
    while (running.load(std::memory_order_relaxed)) refits += loop.refit() ? 1 : 0;
  });
  loop_rows::Source source;
  std::uint64_t classified = 0;
  // Until enough refits have come back, however slow the solver runs.
  for (std::uint64_t i = 0; i < rows || (classified == 0 && i < 1000 * rows); ++i) {
    const Row row = source.next();
    loop.absorb(row);
    classified += loop.classify(row).has_value() ? 1 : 0;
  }
  running = false;
  solver.join();
  const std::uint64_t held = loop.whole().state().row_count();
  std::printf("{\"rows\":%llu,\"held\":%llu,\"refits\":%llu,\"classified\":%llu}\n",
              static_cast<unsigned long long>(loop.rows()), static_cast<unsigned long long>(held),
              static_cast<unsigned long long>(refits), static_cast<unsigned long long>(classified));
  return held == loop.rows() && refits > 0 && classified > 0 ? 0 : 1;
}
