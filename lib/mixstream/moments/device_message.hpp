// A device's state on its way to whoever merges: whose it is, since which start of the device, and how new.
//
//   on the device      publish(encode(DeviceMessage{"pump-7", boot, ++generation, saved_state}));
//   where they merge   auto message = decode_device_message(bytes);   // keep the newest generation of each
//
// A state holds all rows of its epoch, so that a message that is lost, repeated or late does no harm.
// docs/reference/state-format.md describes every byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "mixstream/core/bytes.hpp"
#include "mixstream/core/outcome.hpp"

namespace mixstream {

inline constexpr std::size_t longest_device = 256;                ///< bytes of a device's name
inline constexpr std::uint64_t largest_epoch = (1ULL << 53) - 1;  ///< and generation: exact in every language

/// Views only.
struct DeviceMessage {
  std::string_view device;           ///< may be empty where the topic names it
  std::uint64_t epoch = 0;           ///< grows whenever the device begins without its former rows
  std::uint64_t generation = 0;      ///< of the state within its epoch: the newest holds what the others held
  std::span<const std::byte> state;  ///< encode() of a MomentState or an Estimator
};

/// The message as bytes, with a checksum over all. Any thread; allocates the result.
Bytes encode(const DeviceMessage& message);

/// Views into the bytes. Refuses damage, another version, a longer name and larger numbers than the limits
/// above. The state itself is not looked at. Allocates only the words of a refusal.
Outcome<DeviceMessage> decode_device_message(std::span<const std::byte> bytes);

}  // namespace mixstream
