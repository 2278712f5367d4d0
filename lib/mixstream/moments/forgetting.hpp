// Exponential forgetting without touching old sums: instead of old rows fading, new rows grow.
//
// A row at clock c enters with the weight w 2^((c - reference)/half_life). When the growth passes 2^64,
// everything held is scaled by an exact power of two and the reference moves up by as many half-lives.
//
// Clocks of rows can be wrong, and one row from the year 2106 must not wipe the state. A time more than 64
// half-lives away from the latest one is not believed until 16 rows in succession say so; until then such
// rows are refused, and a row near the latest time ends the suspicion. Once a jump ahead is believed, the
// past is as old as the clock says. Once a jump back is believed, the clock was set back: what is held counts
// as of now.
#pragma once

#include <cmath>
#include <cstdint>

#include "mixstream/core/settings.hpp"

namespace mixstream {

class Forgetting {
 public:
  static constexpr double largest_jump = 64.0;      ///< in half-lives
  static constexpr std::uint32_t enough_rows = 16;  ///< that say the same, to believe a jump

  /// Everything but the half-life, for the snapshot.
  struct Clock {
    double reference = 0.0;        ///< the clock at which growth is one
    double latest = 0.0;           ///< the latest clock believed
    std::uint32_t suspicions = 0;  ///< rows in succession that jumped
    bool started = false;
    friend bool operator==(const Clock&, const Clock&) = default;
  };

  Forgetting() = default;
  explicit Forgetting(double half_life) noexcept : half_life_(half_life) {}

  /// Starts the clock, unless it runs. No throw.
  void start(double clock) noexcept {
    if (!clock_.started) clock_ = {clock, clock, 0, true};
  }

  /// Whether a row at this time may enter; a jump that is now believed sets the clock. No throw.
  bool believes(double time) noexcept {
    start(time);
    const double lives = (time - clock_.latest) / half_life_;
    const bool jumps = !(std::abs(lives) <= largest_jump);
    clock_.suspicions = jumps ? clock_.suspicions + 1 : 0;
    if (!jumps) return true;
    if (clock_.suspicions < enough_rows) return false;
    if (lives < 0.0) clock_ = {time - (clock_.latest - clock_.reference), time, 0, true};
    clock_.suspicions = 0;
    return true;
  }

  /// Weight factor of a row at this clock; at most 2^65 after advance(clock). No throw.
  double growth(double clock) const noexcept { return std::exp2((clock - clock_.reference) / half_life_); }

  /// Weight factor of a row arriving now. No throw.
  double growth_now() const noexcept {
    return half_life_ > 0.0 && clock_.started ? growth(clock_.latest) : 1.0;
  }

  /// Notes a row's clock; returns the factor that everything held must be multiplied by first (mostly 1). No
  /// throw.
  double advance(double clock) noexcept {
    start(clock);
    clock_.latest = std::fmax(clock_.latest, clock);
    const double lives = (clock - clock_.reference) / half_life_;
    if (lives <= largest_jump) return 1.0;
    const double whole = std::floor(lives);
    // far ahead, the steps of a double may be coarser than a half-life
    clock_.reference = whole < 1024.0 ? clock_.reference + whole * half_life_ : clock;
    return std::exp2(-whole);
  }

  /// The factor that brings weights held under `other` to weights under this one, for rows on the same clock.
  double factor_from(const Forgetting& other) const noexcept {
    return std::exp2((other.clock_.reference - clock_.reference) / half_life_);
  }

  const Clock& clock() const noexcept { return clock_; }
  void restore(const Clock& clock) noexcept { clock_ = clock; }
  friend bool operator==(const Forgetting&, const Forgetting&) = default;

 private:
  double half_life_ = 0.0;
  Clock clock_;
};

}  // namespace mixstream
