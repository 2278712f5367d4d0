// What is believed of devices that send states.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mixstream/moments/state.hpp"

namespace mixstream {

struct DeviceSettings {
  bool enabled = false;                     ///< format = "state"
  std::uint64_t held_bytes = 256ULL << 20;  ///< of all states that are held; what goes beyond is refused
  std::uint64_t most_rows = 1'000'000'000;  ///< that one state may claim
  double most_weight = 1.0;                 ///< a row's weight in the mean that a state may claim
  friend bool operator==(const DeviceSettings&, const DeviceSettings&) = default;
};

}  // namespace mixstream
