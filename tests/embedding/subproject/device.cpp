// A device with the moments alone: rows in, a state as bytes out, and back.
#include <cstdio>

#include "mixstream/core/random.hpp"
#include "mixstream/moments/codec.hpp"

int main() {
  mixstream::StateSettings settings;
  settings.layout = {2, 0};
  auto state = mixstream::MomentState::create(settings).value();
  mixstream::Random sensor(1);
  for (int i = 0; i < 1000; ++i) {
    const double x[2] = {1.0, sensor.normal()};
    state.absorb({x, 1.0 + 2.0 * x[1] + 0.1 * sensor.normal()});
  }
  const mixstream::Bytes bytes = mixstream::encode(state);
  const auto back = mixstream::decode(bytes);
  std::printf("%zu bytes of %llu rows\n", bytes.size(), static_cast<unsigned long long>(state.row_count()));
  return back && back.value().state == state && state.row_count() == 1000 ? 0 : 1;
}
