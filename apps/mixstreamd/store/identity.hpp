// What is believed of a row's sensor, number and time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mixstream {

struct IdentitySettings {
  std::size_t sensor_level = 0;  ///< level of the topic that names the sensor, from 1; 0: the payload's field
  std::size_t most_sensors = 10000;        ///< with sequence numbers; rows of further ones are refused
  double sensor_expiry = 30 * 86400.0;     ///< seconds without a row; then a new sensor may take the place
  std::uint64_t largest_jump = 1'000'000;  ///< of a sequence number forward, before several rows agree on it
  double clock_tolerance = 60.0;           ///< seconds that a row's time may be ahead of its arrival
  friend bool operator==(const IdentitySettings&, const IdentitySettings&) = default;
};

}  // namespace mixstream
