// A sensor loop with a solver thread: the loop absorbs and classifies, the solver refits, neither waits.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>

#include "mixstream/sensor_loop.hpp"

int main() {
  mixstream::LoopSettings settings;
  settings.estimator.state.layout = {2, 0};  // x = (1, u)
  settings.policy.every_rows = 10'000;
  auto loop = mixstream::FixedSensorLoop<2>::create(settings).value();

  std::atomic<bool> running{true};
  std::thread solver([&] {
    while (running) {
      if (const auto report = loop.core().refit())
        std::printf("%llu rows: %s\n", static_cast<unsigned long long>(report->rows), report->words.c_str());
      else
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });

  std::mt19937_64 bits(1);
  std::normal_distribution<double> normal;
  std::bernoulli_distribution first_law(0.3);
  long rising = 0;
  long classified = 0;
  for (long i = 0; classified < 100'000 && i < 500'000'000; ++i) {
    const double u = normal(bits);
    const double y = (first_law(bits) ? 1.0 + 2.0 * u : -1.0 - u) + 0.2 * normal(bits);
    loop.absorb({1.0, u}, y);
    if (const auto component = loop.classify({1.0, u}, y)) {
      ++classified;
      rising += loop.core().fit().law(*component)[1] > 0.0 ? 1 : 0;
    }
  }
  running = false;
  solver.join();
  std::printf("%ld rows classified, %ld of them to the rising law\n", classified, rising);
  return rising > 27'000 && rising < 33'000 ? 0 : 1;  // its share is 0.3
}
