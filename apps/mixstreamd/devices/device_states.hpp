// The states that devices sent: the newest generation of each device's last two epochs, and what its epochs
// before came to. Messages in the same order make the same table; repeated and late ones change nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device_state.hpp"
#include "mixstream/core/bytes.hpp"
#include "mixstream/core/outcome.hpp"

namespace mixstream {

enum class StateFate : std::uint8_t { kept, repeated, refused };

/// What one message did.
struct StateEffect {
  StateFate fate = StateFate::kept;
  StateFault fault = StateFault::none;
  std::string words;  ///< refused: whose state, and why
};

/// One thread at a time; parts() may be merged in another.
class DeviceStates {
 public:
  static constexpr std::uint64_t largest_epoch_jump = std::uint64_t{1} << 40;  ///< milliseconds of 34 years
  static constexpr std::size_t open_epochs = 2;

  /// `model`: what the states must be of. `most_devices`, `largest_jump`: of a generation forward.
  DeviceStates(StateSettings model, const DeviceSettings& settings, std::size_t most_devices,
               std::uint64_t largest_jump);

  /// Judges a message and keeps its state when it is the newest of its epoch. `device`: whose topic it is,
  /// whatever the message says; empty: the message says it. No more memory than its bytes and a few states.
  StateEffect take(std::string_view device, std::span<const std::byte> message);
  /// A device's states, all of them, leave the sum. False: it is not known.
  bool forget(std::string_view device);

  std::uint64_t rows() const noexcept { return rows_; }  ///< of all that is held
  std::uint64_t repeated() const noexcept { return repeated_; }
  std::size_t device_count() const noexcept { return devices_.size(); }
  std::uint64_t held_bytes() const noexcept { return held_bytes_; }

  /// A state to be merged, and whose it is.
  struct Part {
    std::string device;
    std::shared_ptr<const Bytes> state;
  };
  /// All that is held, in the order of the devices' names and of their epochs. Copies no state.
  std::vector<Part> parts() const;

  Bytes encode() const;  ///< equal tables have equal bytes
  /// Of encode(), into a table that nothing was taken into. False: the bytes are damaged.
  bool restore(std::span<const std::byte> bytes);

 private:
  struct Held {
    std::uint64_t epoch = 0;
    std::uint64_t generation = 0;
    std::uint64_t rows = 0;
    std::shared_ptr<const Bytes> state;
  };
  struct Device {
    std::vector<Held> open;  // by epoch, at most open_epochs
    Held closed;             // all epochs before; its epoch is the last of them. Without a state: none
  };

  /// What a device adds to the whole.
  struct Share {
    std::uint64_t rows = 0;
    std::uint64_t bytes = 0;
  };

  static Share share_of(const Device& device);
  StateFault judge_numbers(const Device* device, std::uint64_t epoch, std::uint64_t generation) const;
  StateFault keep(const std::string& name, Held held);
  StateFault close_oldest(Device& device) const;

  StateSettings model_;
  DeviceSettings settings_;
  std::size_t most_devices_;
  std::uint64_t largest_jump_;
  std::map<std::string, Device, std::less<>> devices_;
  std::uint64_t rows_ = 0;
  std::uint64_t held_bytes_ = 0;
  std::uint64_t repeated_ = 0;
};

/// What parts come to.
struct MergedStates {
  MomentState state;
  std::vector<std::string> left_out;  ///< devices whose sums do not add to the others', with the reason
};

/// Merges in the given order, as `mixstream merge` does. A part that cannot be added is left out by name.
/// Refuses only a model of which no state can be made.
Outcome<MergedStates> merge_states(const std::vector<DeviceStates::Part>& parts, const StateSettings& model);

}  // namespace mixstream
