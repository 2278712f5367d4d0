#include "read_devices.hpp"

#include <fmt/format.h>

namespace mixstream {

void read_devices(TableReader& in, StreamConfig& stream) {
  DeviceSettings& devices = stream.devices;
  std::uint64_t held = devices.held_bytes >> 20;
  in.take_whole("devices_mib", held, 1, 1 << 24);
  devices.held_bytes = held << 20;
  in.take_whole("device_rows", devices.most_rows, 1, 1'000'000'000'000);
  in.take_number("device_weight", devices.most_weight, 1e-100, 1e15);
  if (!devices.enabled) {
    for (const char* const key : {"devices_mib", "device_rows", "device_weight"})
      if (in.has(key)) in.refuse(key, "belongs to format = \"state\"");
    return;
  }
  if (stream.topic.empty()) in.refuse("format", "\"state\" needs a topic: states come whole, not in lines");
  if (stream.topic.starts_with("$share/"))
    in.refuse("topic", "must not be shared with format = \"state\": a device's generations belong together");
  if (!stream.payload.columns.empty()) in.refuse("columns", "mean nothing with format = \"state\"");
  if (stream.estimator.state.memory.kind != Memory::Kind::everything)
    in.refuse(in.has("window") ? "window" : "half_life",
              "does not go together with format = \"state\": what a device sent last counts wholly");
  if (stream.refit.rows > 0)
    in.refuse("refit_rows", "counts rows as they come; states are solved by time (refit_interval)");
  if (stream.estimator.solve.method == FitMethod::paper)
    in.refuse("method", "\"paper\" does not go together with format = \"state\"");
  stream.estimator.solve.polish = PolishKind::off;  // it needs the rows
}

}  // namespace mixstream
