// Saving at shutdown and resuming: the second run goes on with the rows and the fit of the first.
#include <cstdio>

#include "mixstream/core/random.hpp"
#include "mixstream/moments/state_file.hpp"
#include "mixstream/sensor_loop.hpp"

namespace {

void run(mixstream::SensorLoop& loop, std::uint64_t seed) {
  mixstream::Random sensor(seed);
  for (int i = 0; i < 6'000; ++i) {
    const double x[2] = {1.0, sensor.normal()};
    loop.absorb({x, (sensor.uniform() < 0.3 ? 1.0 + 2.0 * x[1] : -1.0 - x[1]) + 0.2 * sensor.normal()});
    loop.refit();  // in a real loop: on a thread of its own
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "loop.mix";
  mixstream::LoopSettings settings;
  settings.estimator.state.layout = {2, 0};
  settings.policy.every_rows = 5'000;
  mixstream::SensorLoop first = mixstream::SensorLoop::create(settings).value();
  run(first, 3);
  if (const auto written = mixstream::write_file(path, first.whole().encode()); !written) {
    std::fprintf(stderr, "%s\n", written.refusal().text.c_str());
    return 1;
  }
  const mixstream::Bytes bytes = mixstream::read_file(path).value();
  auto estimator = mixstream::Estimator::decode(bytes, settings.estimator);
  if (!estimator) return 1;
  mixstream::SensorLoop second =
      mixstream::SensorLoop::resume(std::move(estimator).value(), settings).value();
  run(second, 4);
  std::printf("%llu rows in two runs\n", static_cast<unsigned long long>(second.rows()));
  return second.rows() == 12'000 && second.fit().component_count() == 2 ? 0 : 1;
}
