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

#include "mixstream/moments/bytes.hpp"
#include "mixstream/outcome.hpp"

namespace mixstream {

/// Epochs and sequence numbers are at most this, so that every format carries them exactly.
inline constexpr std::uint64_t largest_sequence = (std::uint64_t{1} << 53) - 1;

enum class SequenceVerdict : std::uint8_t {
  fresh,            ///< never seen: fold it
  duplicate,        ///< seen
  too_old,          ///< before the window: nobody knows whether it was seen
  old_epoch,        ///< of an epoch before the last two
  too_many_sensors  ///< a new sensor beyond the limit
};

/// The stable name of a verdict, such as "too_old". No throw, no allocation.
const char* name_of(SequenceVerdict verdict) noexcept;

/// The sequence numbers of one epoch of one sensor.
class SequenceWindow {
 public:
  static constexpr std::uint64_t width = 1024;

  SequenceWindow(std::uint64_t epoch, std::uint64_t first) noexcept;

  /// Judges a number and remembers it. No throw, no allocation.
  SequenceVerdict take(std::uint64_t sequence) noexcept;

  std::uint64_t epoch() const noexcept { return epoch_; }
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
  explicit Deduplication(std::size_t most_sensors = 10000) : most_sensors_(most_sensors) {}
  Deduplication(const Deduplication& other);
  Deduplication& operator=(const Deduplication& other);

  /// Judges a row and remembers it. A greater epoch is a sensor that began anew; rows of the epoch before are
  /// still told apart. Allocates for new sensors only.
  SequenceVerdict take(std::string_view sensor, std::uint64_t epoch, std::uint64_t sequence);

  std::uint64_t gaps() const noexcept { return gaps_; }  ///< of all sensors; falls when a late row fills one
  std::size_t sensor_count() const noexcept { return sensors_.size(); }

  Bytes encode() const;
  /// Refuses bytes that encode() cannot have made.
  static Outcome<Deduplication> decode(std::span<const std::byte> bytes, std::size_t most_sensors);

  friend bool operator==(const Deduplication& a, const Deduplication& b) {
    return a.gaps_ == b.gaps_ && a.sensors_ == b.sensors_;
  }

 private:
  struct Sensor {
    SequenceWindow current;
    std::optional<SequenceWindow> previous{};  // of the epoch before
    std::uint64_t gaps() const noexcept { return current.gaps() + (previous ? previous->gaps() : 0); }
    friend bool operator==(const Sensor&, const Sensor&) = default;
  };
  using Sensors = std::map<std::string, Sensor, std::less<>>;

  SequenceVerdict take_new(std::string_view sensor, std::uint64_t epoch, std::uint64_t sequence);
  SequenceVerdict take_known(Sensor& sensor, std::uint64_t epoch, std::uint64_t sequence);

  std::size_t most_sensors_;
  Sensors sensors_;                          // sorted, so that equal tables have equal bytes
  Sensors::iterator last_ = sensors_.end();  // rows of a sensor mostly come together
  std::uint64_t gaps_ = 0;                   // also of epochs that are no longer kept
};

}  // namespace mixstream
