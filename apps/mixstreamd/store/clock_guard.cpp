#include "store/clock_guard.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mixstream {

const char* name_of(ClockFate fate) noexcept {
  switch (fate) {
    case ClockFate::fine:
      return "fine";
    case ClockFate::clock_ahead:
      return "clock_ahead";
    case ClockFate::clock_jump:
      return "clock_jump";
  }
  return "unknown";
}

/// Null: there are too many to tell them apart.
ClockGuard::Sensor* ClockGuard::sensor_of(std::string_view name, double arrival) {
  const auto found = sensors_.find(name);
  if (found != sensors_.end()) return &found->second;
  if (sensors_.size() >= settings_.most_sensors)
    std::erase_if(sensors_,
                  [&](const auto& entry) { return entry.second.seen + settings_.sensor_expiry < arrival; });
  if (sensors_.size() >= settings_.most_sensors) return nullptr;
  return &sensors_.emplace(name, Sensor{}).first->second;
}

ClockFate ClockGuard::judge(std::string_view sensor, double time, double arrival) {
  const bool forgets = half_life_ > 0.0;
  if ((forgets || gap_ > 0.0) && time > arrival + settings_.clock_tolerance) return ClockFate::clock_ahead;
  if (!forgets) return ClockFate::fine;
  Sensor* const known = sensor_of(sensor, arrival);
  const bool jumps = started_ && !(std::abs(time - latest_) <= largest_jump * half_life_);
  if (known == nullptr) return jumps ? ClockFate::clock_jump : ClockFate::fine;
  known->seen = arrival;
  known->jumps = jumps;
  if (!jumps) return ClockFate::fine;
  return most_jump(arrival) ? ClockFate::fine : ClockFate::clock_jump;
}

/// Of those that sent within the last minute, or half-life.
bool ClockGuard::most_jump(double arrival) const {
  const double since = arrival - std::max(60.0, half_life_);
  std::size_t active = 0;
  std::size_t jumping = 0;
  for (const auto& [name, sensor] : sensors_) {
    if (sensor.seen < since) continue;
    ++active;
    jumping += sensor.jumps ? 1 : 0;
  }
  return 2 * jumping > active;
}

void ClockGuard::folded(double time) noexcept {
  const bool set_back = started_ && time < latest_ - largest_jump * half_life_;
  latest_ = started_ && !set_back ? std::max(latest_, time) : time;
  started_ = true;
}

Bytes ClockGuard::encode() const {
  ByteWriter out;
  out.put(latest_);
  out.put(static_cast<std::uint32_t>(started_));
  out.put(static_cast<std::uint64_t>(sensors_.size()));
  for (const auto& [name, sensor] : sensors_) {
    out.put_text(name);
    out.put(sensor.seen);
    out.put(static_cast<std::uint32_t>(sensor.jumps));
  }
  return std::move(out).take();
}

bool ClockGuard::restore(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  latest_ = in.take_double();
  started_ = in.take<std::uint32_t>() != 0;
  const auto count = in.take<std::uint64_t>();
  sensors_.clear();
  for (std::uint64_t i = 0; in.ok() && i < count; ++i) {
    std::string name = in.take_text();
    const double seen = in.take_double();
    sensors_.emplace(std::move(name), Sensor{seen, in.take<std::uint32_t>() != 0});
  }
  return in.ok() && in.at_end() && std::isfinite(latest_);
}

}  // namespace mixstream
