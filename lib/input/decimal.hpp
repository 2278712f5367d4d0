// digits * 10^exponent as the nearest double: the arithmetic behind the number reader.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace mixstream {

/// 5^q as mantissa * 2^exponent with the mantissa in [2^127, 2^128): exact for 0 <= q <= 55, else short by
/// less than one unit of `low` (q > 55) or over by at most one (q < 0).
struct PowerOfFive {
  std::uint64_t high;
  std::uint64_t low;
  int exponent;
};
inline constexpr int least_power = -342;
inline constexpr int greatest_power = 308;
extern const std::array<PowerOfFive, greatest_power - least_power + 1> powers_of_five;

/// The nearest double to digits * 10^exponent, ties to even, for least_power <= exponent <= greatest_power.
/// False where 128 bits of 5^q cannot decide the rounding or the result is not a normal double. No
/// allocation.
///
/// The product of the 64-bit digits and the 128-bit mantissa is off by less than one unit of its bit 64, so
/// the rounding is certain unless everything between that bit and the last kept one is 1000... or 0111... .
inline bool nearest_double(std::uint64_t digits, int exponent, double& value) noexcept {
  __extension__ using Wide = unsigned __int128;
  if (digits == 0) {
    value = 0.0;
    return true;
  }
  const PowerOfFive& power = powers_of_five[static_cast<std::size_t>(exponent - least_power)];
  const int leading = std::countl_zero(digits);
  const std::uint64_t normal = digits << leading;
  const Wide product = Wide{normal} * power.high + ((Wide{normal} * power.low) >> 64);
  const auto high = static_cast<std::uint64_t>(product >> 64);
  const auto low = static_cast<std::uint64_t>(product);

  const int shift = 10 + static_cast<int>(high >> 63);  // leaves 53 bits
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  const std::uint64_t rest = high & (2 * half - 1);
  if ((rest == half && low == 0) || (rest == half - 1 && low == ~std::uint64_t{0})) return false;
  const std::uint64_t mantissa =
      (high >> shift) + (rest >= half ? 1 : 0);  // 2^53 carries into the exponent below

  const int biased = 1075 + shift + 128 + power.exponent + exponent - leading;
  if (biased < 1 || biased > 2045) return false;
  value = std::bit_cast<double>((static_cast<std::uint64_t>(biased - 1) << 52) + mantissa);
  return true;
}

}  // namespace mixstream
