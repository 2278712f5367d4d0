// Repeatable random numbers: the same on every machine and compiler, unlike the standard library's
// distributions.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace mixstream {

/// Mixes 64 bits so that every input bit moves every output bit (the finalizer of splitmix64). No throw.
constexpr std::uint64_t mixed_bits(std::uint64_t bits) noexcept {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
  return bits ^ (bits >> 31);
}

/// A splitmix64 generator. No throw, no allocation; not for secrets.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(mixed_bits(seed + golden)) {}

  std::uint64_t bits() noexcept { return mixed_bits(state_ += golden); }
  double uniform() noexcept { return static_cast<double>(bits() >> 11) * 0x1p-53; }  ///< in [0, 1)
  double uniform(double low, double high) noexcept { return low + (high - low) * uniform(); }

  /// Standard normal, by Box and Muller; draws come in pairs.
  double normal() noexcept {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    const double angle = 2.0 * std::numbers::pi * uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

 private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15ULL;
  std::uint64_t state_;
  double spare_ = 0.0;
  bool has_spare_ = false;
};

}  // namespace mixstream
