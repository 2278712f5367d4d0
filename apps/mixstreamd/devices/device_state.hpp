// One device's state, judged: whether it is of the stream's model and whether rows can have made it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "device_settings.hpp"
#include "mixstream/core/bytes.hpp"
#include "mixstream/moments/state.hpp"

namespace mixstream {

/// Why a state was refused. Names are stable.
enum class StateFault : std::uint8_t {
  none,
  no_device,         ///< neither the message nor the topic names the device
  bad_state,         ///< damaged, of another version, or no state at all
  other_model,       ///< of other features, response, memory or sample size than the stream's
  too_many_rows,     ///< more than device_rows
  too_heavy,         ///< its weights are above device_weight in the mean
  impossible_state,  ///< moments that no rows have
  fewer_rows,        ///< a newer generation holds fewer rows than the one before
  epoch_closed,      ///< of an epoch before the device's last two
  epoch_jump,        ///< an epoch further ahead than is believed of one message
  generation_jump,   ///< likewise a generation
  too_many_devices,  ///< beyond most_sensors
  no_room            ///< beyond devices_mib
};

/// The stable name of a fault, such as "bad_state". No throw, no allocation.
const char* name_of(StateFault fault) noexcept;
/// What to do about it; empty for other names.
std::string_view advice_on_state(std::string_view name) noexcept;

/// What was found in a state's bytes.
struct JudgedState {
  StateFault fault = StateFault::none;
  std::string words;  ///< refused: why, in words
  std::uint64_t rows = 0;
  std::shared_ptr<const Bytes> bytes;  ///< the moments alone, named as the stream's; null when refused
};

/// Takes no more memory than two states of the model, whatever the bytes claim. `wanted`: of the stream.
JudgedState judge_state(std::span<const std::byte> bytes, const StateSettings& wanted,
                        const DeviceSettings& settings);

/// Whether rows can have these moments: squares are not negative, and no product beats its squares. In the
/// state's own coordinates, where rounding is small.
bool could_be_rows(const MomentState& state);

}  // namespace mixstream
