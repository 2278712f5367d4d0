// One thread for everything: the refit is worked off in slices between rows.
#include <chrono>
#include <cstdio>
#include <random>

#include "mixstream/sensor_loop.hpp"

int main() {
  using namespace std::chrono_literals;
  mixstream::LoopSettings settings;
  settings.estimator.state.layout = {2, 0};
  settings.policy.every_rows = 5'000;
  mixstream::SensorLoop loop = mixstream::SensorLoop::create(settings).value();

  std::mt19937_64 bits(2);
  std::normal_distribution<double> normal;
  std::bernoulli_distribution first_law(0.3);
  int refits = 0;
  for (int i = 0; i < 20'000; ++i) {
    const double x[2] = {1.0, normal(bits)};
    const double y = (first_law(bits) ? 1.0 + 2.0 * x[1] : -1.0 - x[1]) + 0.2 * normal(bits);
    loop.absorb({x, y});
    if (const auto report = loop.refit_step(200us)) {  // what the cycle has left
      ++refits;
      std::printf("%llu rows: %s\n", static_cast<unsigned long long>(report->rows), report->words.c_str());
    }
  }
  return refits > 0 && loop.fit().component_count() == 2 ? 0 : 1;
}
