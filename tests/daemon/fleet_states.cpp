// What a fleet of devices sends, and the state of all its rows: for tests of the daemon.
// fleet_states FOLDER DEVICES: writes FOLDER/DEVICE.EPOCH.GENERATION, every second device with a second
// epoch, and FOLDER/all.state, which saw each row that the last generations hold once.
#include <cstdint>
#include <cstdio>
#include <string>

#include "mixstream/core/random.hpp"
#include "mixstream/estimator.hpp"
#include "mixstream/moments/codec.hpp"
#include "mixstream/moments/device_message.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/moments/state_file.hpp"

namespace {

using namespace mixstream;

constexpr std::uint64_t generations = 3;

template <class State>
void absorb(State& state, Random& numbers, std::uint64_t rows) {
  for (std::uint64_t i = 0; i < rows; ++i) {
    const double x[2] = {1.0, 2.0 * numbers.uniform() - 1.0};
    const double y =
        (numbers.uniform() < 0.4 ? 1.0 + 2.0 * x[1] : -1.0 + 0.5 * x[1]) + 0.1 * numbers.normal();
    state.absorb({x, y});
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  const std::string folder = words[1];
  EstimatorSettings settings;
  settings.state = {
      .layout = {2, 0}, .feature_map = "1,t", .response = "y", .memory = {}, .reservoir_rows = 1000};
  settings.solve.component_count = 2;
  settings.solve.polish = PolishKind::off;
  Estimator all = Estimator::create(settings).value();
  const std::uint64_t devices = std::stoull(words[2]);
  for (std::uint64_t device = 0; device < devices; ++device) {
    for (std::uint64_t epoch = 1; epoch <= 1 + device % 2; ++epoch) {
      const std::uint64_t source = 100 * device + epoch;
      MomentState state = MomentState::create(settings.state).value();
      state.begin_source(source);
      all.go_on_at({0, source});
      Random numbers(source);
      Random same(source);
      for (std::uint64_t generation = 1; generation <= generations; ++generation) {
        absorb(state, numbers, 200);
        absorb(all, same, 200);
        const std::string name = "device" + std::to_string(device);
        const Bytes held = encode(state);
        const std::string path =
            folder + "/" + name + "." + std::to_string(epoch) + "." + std::to_string(generation);
        if (!write_file(path, encode(DeviceMessage{name, epoch, generation, held}))) return 1;
      }
    }
  }
  if (!write_file(folder + "/all.state", all.encode())) return 1;
  std::printf("%llu\n", static_cast<unsigned long long>(all.state().row_count()));
  return 0;
}
