// Exponential forgetting without touching old sums: instead of old rows fading, new rows grow.
//
// A row at clock c enters with the weight w 2^((c - reference)/half_life). When the growth passes 2^64,
// everything held is scaled by an exact power of two and the reference moves up by as many half-lives.
#pragma once

#include <cmath>

namespace mixstream {

/// How much of the past counts.
struct Memory {
  enum class Kind { everything, half_life_rows, half_life_seconds, window_rows };
  Kind kind = Kind::everything;
  double length = 0.0;  ///< half-life in rows or seconds, or window in rows; unused for everything
  int panes = 16;       ///< of a window, which is exact to one pane

  bool forgets() const noexcept { return kind == Kind::half_life_rows || kind == Kind::half_life_seconds; }
  friend bool operator==(const Memory&, const Memory&) = default;
};

class Forgetting {
 public:
  Forgetting() = default;
  explicit Forgetting(double half_life) noexcept : half_life_(half_life) {}

  /// Weight factor of a row at this clock. No throw.
  double growth(double clock) const noexcept { return std::exp2((clock - reference_) / half_life_); }

  /// Weight factor of a row arriving now. No throw.
  double growth_now() const noexcept { return half_life_ > 0.0 && started_ ? growth(latest_) : 1.0; }

  /// Notes a row's clock; returns the factor that everything held must be multiplied by first (mostly 1). No
  /// throw.
  double advance(double clock) noexcept {
    if (!started_) {
      started_ = true;
      reference_ = latest_ = clock;
    }
    latest_ = std::fmax(latest_, clock);
    const double lives = (clock - reference_) / half_life_;
    if (lives <= 64.0) return 1.0;
    const double whole = std::floor(lives);
    reference_ += whole * half_life_;
    return std::exp2(-whole);
  }

  /// The factor that brings weights held under `other` to weights under this one, for rows on the same clock.
  double factor_from(const Forgetting& other) const noexcept {
    return std::exp2((other.reference_ - reference_) / half_life_);
  }

  double reference() const noexcept { return reference_; }
  double latest() const noexcept { return latest_; }
  bool started() const noexcept { return started_; }
  friend bool operator==(const Forgetting&, const Forgetting&) = default;
  void restore(double reference, double latest, bool started) noexcept {
    reference_ = reference;
    latest_ = latest;
    started_ = started;
  }

 private:
  double half_life_ = 0.0;
  double reference_ = 0.0;  // the clock at which growth is one
  double latest_ = 0.0;     // the latest clock seen
  bool started_ = false;
};

}  // namespace mixstream
