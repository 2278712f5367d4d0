// A device with the moments alone: rows in, a state as bytes out, and back.
#include <cstdio>
#include <random>

#include "mixstream/moments/moments.hpp"

int main() {
  mixstream::StateSettings settings;
  settings.layout = {2, 0};
  auto moments = mixstream::Moments::create(settings).value();
  std::mt19937_64 bits(1);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 1000; ++i) {
    const double x[2] = {1.0, normal(bits)};
    moments.absorb({x, 1.0 + 2.0 * x[1] + 0.1 * normal(bits)});
  }
  const mixstream::Bytes bytes = moments.encode();
  const auto back = mixstream::Moments::decode(bytes);
  std::printf("%zu bytes of %llu rows\n", bytes.size(), static_cast<unsigned long long>(moments.row_count()));
  return back && back.value() == moments && moments.row_count() == 1000 ? 0 : 1;
}
