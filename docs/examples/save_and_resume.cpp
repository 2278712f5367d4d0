// Saving at shutdown and resuming: the second run goes on with the rows and the fit of the first.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <vector>

#include "mixstream/sensor_loop.hpp"

namespace {

void run(mixstream::SensorLoop& loop, std::uint64_t seed) {
  std::mt19937_64 bits(seed);
  std::normal_distribution<double> normal;
  std::bernoulli_distribution first_law(0.3);
  for (int i = 0; i < 6'000; ++i) {
    const double x[2] = {1.0, normal(bits)};
    loop.absorb({x, (first_law(bits) ? 1.0 + 2.0 * x[1] : -1.0 - x[1]) + 0.2 * normal(bits)});
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
  const mixstream::Bytes saved = first.whole().encode();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(saved.data()), static_cast<std::streamsize>(saved.size()));

  std::ifstream file(path, std::ios::binary);
  const std::vector<char> read(std::istreambuf_iterator<char>(file), {});
  auto estimator = mixstream::Estimator::decode(std::as_bytes(std::span(read)), settings.estimator);
  if (!estimator) return 1;
  mixstream::SensorLoop second =
      mixstream::SensorLoop::resume(std::move(estimator).value(), settings).value();
  run(second, 4);
  std::printf("%llu rows in two runs\n", static_cast<unsigned long long>(second.rows()));
  return second.rows() == 12'000 && second.fit().component_count() == 2 ? 0 : 1;
}
