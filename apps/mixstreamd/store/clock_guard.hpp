// Whose clock a stream believes. Where a half-life is a time, a row far ahead would make all that came before
// weigh nothing, and rows far behind would weigh nothing themselves. Where silences are timed (gap), a sensor
// that counts in milliseconds would be silent between any two rows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "mixstream/core/bytes.hpp"
#include "store/identity.hpp"

namespace mixstream {

enum class ClockFate : std::uint8_t {
  fine,
  clock_ahead,  ///< the row's time is ahead of its arrival: minutes and seconds mixed up, or a wrong clock
  clock_jump    ///< many half-lives away from the other sensors' time
};

/// The stable name of a fate, such as "clock_ahead". No throw, no allocation.
const char* name_of(ClockFate fate) noexcept;

/// One thread at a time; copyable. By rows and arrivals alone, so that a journal read again does the same.
class ClockGuard {
 public:
  static constexpr double largest_jump = 64.0;  ///< in half-lives, as the moments' own clock has it

  /// half_life, gap: seconds; 0: the stream has none. Without either every clock is fine; with a gap alone
  /// only a row ahead of its arrival is not.
  ClockGuard(double half_life, const IdentitySettings& settings, double gap = 0.0)
      : half_life_(half_life), gap_(gap), settings_(settings) {}

  /// A jump passes only when most of the sensors that send jump; that several rows must agree on it is then
  /// the moments' own rule. Allocates for new sensors only.
  ClockFate judge(std::string_view sensor, double time, double arrival);
  /// The row was folded: its time is the stream's, if it is the latest, or if the clock was set back to it.
  void folded(double time) noexcept;

  Bytes encode() const;
  bool restore(std::span<const std::byte> bytes);
  friend bool operator==(const ClockGuard& a, const ClockGuard& b) {
    return a.started_ == b.started_ && a.latest_ == b.latest_ && a.sensors_ == b.sensors_;
  }

 private:
  struct Sensor {
    double seen = 0.0;   // arrival of its last row
    bool jumps = false;  // its last row was far away
    friend bool operator==(const Sensor&, const Sensor&) = default;
  };
  bool most_jump(double arrival) const;
  Sensor* sensor_of(std::string_view name, double arrival);

  double half_life_;
  double gap_;
  IdentitySettings settings_;
  std::map<std::string, Sensor, std::less<>> sensors_;
  double latest_ = 0.0;
  bool started_ = false;
};

}  // namespace mixstream
