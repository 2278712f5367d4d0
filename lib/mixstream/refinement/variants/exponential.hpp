// exp and log for a vector of doubles. Only for sources compiled once per instruction set.
#pragma once

#include "mixstream/monomials/variants/lanes.hpp"

namespace mixstream::variants {
namespace {

#if MIXSTREAM_KERNEL_WIDTH == 1
using Bits = unsigned long long;
#else
typedef unsigned long long Bits __attribute__((vector_size(8 * MIXSTREAM_KERNEL_WIDTH)));
#endif

MIXSTREAM_INLINE Lanes all(double value) {
  return Lanes{} + value;
}
MIXSTREAM_INLINE Lanes larger(Lanes a, Lanes b) {
  return a > b ? a : b;
}

// Adding this brings the integer part of a number below 2^51 into the lowest bits.
constexpr double integer_shift = 0x1.8p52;

/// exp(x) for x <= 0, within 2 units in the last place; below -700 it is exp(-700), about 1e-304.
/// x = n log 2 + r, |r| <= log(2)/2; exp(r) by its series, 2^n through the exponent's bits.
MIXSTREAM_INLINE Lanes exponential(Lanes x) {
  x = larger(x, all(-700.0));
  const Lanes shifted = multiply_add(x, all(0x1.71547652b82fep0), all(integer_shift));
  const Lanes n = shifted - integer_shift;
  const Lanes r =
      multiply_add(n, all(-0x1.abc9e3b39803fp-56), multiply_add(n, all(-0x1.62e42fefa39efp-1), x));
  Lanes series = all(1.0 / 6227020800.0);
  constexpr double coefficients[] = {1.0 / 479001600.0,
                                     1.0 / 39916800.0,
                                     1.0 / 3628800.0,
                                     1.0 / 362880.0,
                                     1.0 / 40320.0,
                                     1.0 / 5040.0,
                                     1.0 / 720.0,
                                     1.0 / 120.0,
                                     1.0 / 24.0,
                                     1.0 / 6.0,
                                     0.5,
                                     1.0,
                                     1.0};
  for (const double coefficient : coefficients) series = multiply_add(series, r, all(coefficient));
  const Bits power = __builtin_bit_cast(Bits, shifted) << 52;
  return __builtin_bit_cast(Lanes, __builtin_bit_cast(Bits, series) + power);
}

/// log(x) for x >= 1, within 2 units in the last place of max(log x, 1).
/// x = 2^n m with m in [2/3, 4/3); log m = 2 (s + s^3/3 + s^5/5 + ...), s = (m - 1) / (m + 1).
MIXSTREAM_INLINE Lanes logarithm(Lanes x) {
  constexpr unsigned long long two_thirds = 0x3fe5555555555555;
  constexpr unsigned long long mantissa = 0x000fffffffffffff;
  const Bits above = __builtin_bit_cast(Bits, x) - two_thirds;
  const Lanes m = __builtin_bit_cast(Lanes, (above & mantissa) + two_thirds);
  const Lanes n =
      __builtin_bit_cast(Lanes, (above >> 52) + __builtin_bit_cast(unsigned long long, integer_shift)) -
      integer_shift;
  const Lanes s = (m - 1.0) / (m + 1.0);
  const Lanes square = s * s;
  Lanes series = all(2.0 / 21.0);
  for (int power = 19; power > 0; power -= 2) series = multiply_add(series, square, all(2.0 / power));
  return multiply_add(n, all(0x1.62e42fefa39efp-1), series * s);
}

}  // namespace
}  // namespace mixstream::variants
