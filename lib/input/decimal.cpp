#include "input/decimal.hpp"

#include <cstddef>

namespace mixstream {
namespace {

/// An unsigned number of fixed size; little-endian limbs. Wide enough for 5^308 and for 2^1023 / 5^342 *
/// 2^128.
class BigNumber {
 public:
  static BigNumber power_of_two(int exponent) {
    BigNumber number;
    number.limbs_[static_cast<std::size_t>(exponent / 32)] = std::uint32_t{1} << (exponent % 32);
    return number;
  }

  void multiply_by_five() {
    std::uint64_t carry = 0;
    for (std::uint32_t& limb : limbs_) {
      carry += std::uint64_t{limb} * 5;
      limb = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }

  void divide_by_five() {
    std::uint64_t rest = 0;
    for (std::size_t i = limbs_.size(); i-- > 0;) {
      rest = (rest << 32) | limbs_[i];
      limbs_[i] = static_cast<std::uint32_t>(rest / 5);
      rest %= 5;
    }
  }

  int bit_length() const {
    std::size_t top = limbs_.size();
    while (top > 0 && limbs_[top - 1] == 0) --top;
    return top == 0 ? 0 : static_cast<int>(top) * 32 - std::countl_zero(limbs_[top - 1]);
  }

  /// 64 bits from bit `from` up; bits below bit 0 are zero.
  std::uint64_t bits(int from) const {
    std::uint64_t result = 0;
    for (int i = 63; i >= 0; --i) {
      const int at = from + i;
      const std::uint32_t limb = at < 0 ? 0 : limbs_[static_cast<std::size_t>(at / 32)];
      result = (result << 1) | (at < 0 ? 0 : (limb >> (at % 32)) & 1);
    }
    return result;
  }

 private:
  std::array<std::uint32_t, 36> limbs_{};
};

/// The top 128 bits of number * 2^scale, cut off below.
PowerOfFive top_bits(const BigNumber& number, int scale) {
  const int length = number.bit_length();
  return {number.bits(length - 64), number.bits(length - 128), length - 128 + scale};
}

auto make_powers() {
  std::array<PowerOfFive, greatest_power - least_power + 1> table{};
  const auto at = [&](int power) -> PowerOfFive& {
    return table[static_cast<std::size_t>(power - least_power)];
  };
  BigNumber number = BigNumber::power_of_two(0);
  for (int power = 0; power <= greatest_power; ++power, number.multiply_by_five())
    at(power) = top_bits(number, 0);
  // floor(floor(2^s / 5) / 5) = floor(2^s / 25): repeated division keeps every leading bit right.
  const int scale = 1100;
  number = BigNumber::power_of_two(scale);
  for (int power = -1; power >= least_power; --power) {
    number.divide_by_five();
    at(power) = top_bits(number, -scale);
    if (++at(power).low == 0) ++at(power).high;  // never exact: round up
  }
  return table;
}

}  // namespace

const std::array<PowerOfFive, greatest_power - least_power + 1> powers_of_five = make_powers();

}  // namespace mixstream
