// Which rows a sensor has sent before: for each sensor the newest sequence number and the 1,024 up to it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "mixstream/core/bytes.hpp"
#include "mixstream/core/outcome.hpp"
#include "store/identity.hpp"

namespace mixstream {

/// Epochs and sequence numbers are at most this, so that every format carries them exactly.
inline constexpr std::uint64_t largest_sequence = (std::uint64_t{1} << 53) - 1;

enum class SequenceFate : std::uint8_t {
  fresh,             ///< never seen: fold it
  duplicate,         ///< seen
  too_old,           ///< before the window: nobody knows whether it was seen
  old_epoch,         ///< of an epoch before the last two
  too_many_sensors,  ///< a new sensor beyond the limit
  sequence_jump      ///< further ahead than is believed of one row
};

/// The stable name of a fate, such as "too_old". No throw, no allocation.
const char* name_of(SequenceFate fate) noexcept;

/// The sequence numbers of one epoch of one sensor.
class SequenceWindow {
 public:
  static constexpr std::uint64_t width = 1024;

  SequenceWindow(std::uint64_t epoch, std::uint64_t first) noexcept;

  /// Judges a number and remembers it. No throw, no allocation.
  SequenceFate take(std::uint64_t sequence) noexcept;

  std::uint64_t epoch() const noexcept { return epoch_; }
  std::uint64_t highest() const noexcept { return highest_; }
  /// Numbers between the lowest and the highest seen that never came.
  std::uint64_t gaps() const noexcept { return highest_ - lowest_ - (seen_ - 1); }

  void encode(ByteWriter& out) const;
  static std::optional<SequenceWindow> decode(ByteReader& in);

  friend bool operator==(const SequenceWindow&, const SequenceWindow&) = default;

 private:
  SequenceWindow() = default;
  bool is_sound() const noexcept;
  bool bit(std::uint64_t sequence) const noexcept;
  void set(std::uint64_t sequence, bool value) noexcept;

  std::uint64_t epoch_ = 0;
  std::uint64_t lowest_ = 0;
  std::uint64_t highest_ = 0;
  std::uint64_t seen_ = 0;                        // numbers, each once
  std::array<std::uint64_t, width / 64> bits_{};  // of number s: bit s mod 1,024
};

/// One thread at a time; copyable.
class Deduplication {
 public:
  static constexpr std::uint32_t enough_rows = 16;  ///< of a sensor in succession, to believe a jump
  static constexpr std::uint64_t largest_first = std::uint64_t{1} << 52;       ///< number of a new sensor
  static constexpr std::uint64_t largest_epoch_jump = std::uint64_t{1} << 40;  ///< milliseconds of 34 years

  explicit Deduplication(const IdentitySettings& settings = {}) : settings_(settings) {}
  Deduplication(const Deduplication& other);
  Deduplication& operator=(const Deduplication& other);

  /// Judges a row and remembers it. A greater epoch is a sensor that began anew; rows of the epoch before are
  /// still told apart. Allocates for new sensors only.
  /// A number or epoch far ahead is refused until enough rows of the sensor in succession, each above the
  /// last, agree on it: one wrong number locks nobody out. When all places are taken, a new sensor gets that
  /// of one that has not sent for long. `arrival`: seconds since 1970.
  SequenceFate take(std::string_view sensor, std::uint64_t epoch, std::uint64_t sequence,
                    double arrival = 0.0);

  /// A sensor's numbers so far; its next row is that of a new one. False: it is not known.
  bool forget(std::string_view sensor);

  std::uint64_t gaps() const noexcept { return gaps_; }  ///< of all sensors; falls when a late row fills one
  std::uint64_t opened_gaps() const noexcept { return opened_gaps_; }  ///< all there ever were; never falls
  std::size_t sensor_count() const noexcept { return sensors_.size(); }
  std::size_t most_sensors() const noexcept { return settings_.most_sensors; }

  Bytes encode() const;
  /// What encode() leaves out: when sensors last sent, and what is not yet believed of them. Same order.
  Bytes encode_notes() const;
  /// Refuses bytes that encode() cannot have made.
  static Outcome<Deduplication> decode(std::span<const std::byte> bytes, const IdentitySettings& settings);
  /// Of encode_notes(), for the table that decode() gave. False: the bytes are damaged.
  bool read_notes(std::span<const std::byte> bytes);

  friend bool operator==(const Deduplication& a, const Deduplication& b) {
    return a.gaps_ == b.gaps_ && a.opened_gaps_ == b.opened_gaps_ && a.sensors_ == b.sensors_;
  }

 private:
  struct Sensor {
    SequenceWindow current;
    std::optional<SequenceWindow> previous{};  // of the epoch before
    double seen = 0.0;                         // arrival of its last row
    std::uint32_t suspicions = 0;              // rows in succession that jumped
    std::uint64_t suspect = 0;                 // the last of them
    std::uint64_t gaps() const noexcept { return current.gaps() + (previous ? previous->gaps() : 0); }
    friend bool operator==(const Sensor&, const Sensor&) = default;
  };
  using Sensors = std::map<std::string, Sensor, std::less<>>;

  SequenceFate take_new(std::string_view sensor, std::uint64_t epoch, std::uint64_t sequence, double arrival);
  SequenceFate take_known(Sensor& sensor, std::uint64_t epoch, std::uint64_t sequence);
  bool believes(Sensor& sensor, std::uint64_t epoch, std::uint64_t sequence) const;
  bool make_room(double arrival);

  IdentitySettings settings_;
  Sensors sensors_;                          // sorted, so that equal tables have equal bytes
  Sensors::iterator last_ = sensors_.end();  // rows of a sensor mostly come together
  std::uint64_t gaps_ = 0;                   // also of epochs that are no longer kept
  std::uint64_t opened_gaps_ = 0;
  double nobody_before_ = 0.0;  // no place is given up before this arrival
};

}  // namespace mixstream
