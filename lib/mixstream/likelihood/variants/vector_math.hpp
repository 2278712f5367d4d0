// Vectors of doubles with exp and log, for sources that are compiled once per instruction set.
//
// Everything here has internal linkage and calls no inline function of another header: code compiled for one
// instruction set must never be chosen by the linker for a program that runs on a lesser processor.
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef MIXSTREAM_KERNEL_WIDTH
#define MIXSTREAM_KERNEL_WIDTH 2  // doubles in a vector
#endif

namespace mixstream::variants {
namespace {

inline constexpr std::size_t vector_width = MIXSTREAM_KERNEL_WIDTH;
using Vector = double __attribute__((vector_size(8 * MIXSTREAM_KERNEL_WIDTH), aligned(8), may_alias));
using Bits = std::int64_t __attribute__((vector_size(8 * MIXSTREAM_KERNEL_WIDTH), aligned(8), may_alias));

[[maybe_unused]] inline Vector load(const double* from) noexcept {
  return *reinterpret_cast<const Vector*>(from);
}
[[maybe_unused]] inline void store(double* to, Vector value) noexcept {
  *reinterpret_cast<Vector*>(to) = value;
}
[[maybe_unused]] inline Vector broadcast(double value) noexcept {
  return value - Vector{};
}
[[maybe_unused]] inline Vector larger(Vector a, Vector b) noexcept {
  return a > b ? a : b;
}  // b where a is NaN

[[maybe_unused]] inline double sum_of(Vector value) noexcept {
  double sum = 0.0;
  for (std::size_t lane = 0; lane < vector_width; ++lane) sum += value[lane];
  return sum;
}

// log 2 in two parts; the first has so few digits that its products with exponents are exact.
inline constexpr double log2_high = 6.93147180369123816490e-01;
inline constexpr double log2_low = 1.90821492927058770002e-10;
inline constexpr double rounder = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
inline constexpr std::int64_t rounder_bits = 0x4338000000000000;

/// exp(x) for x <= 700, below 1.5 ulp; zero below -700, so that no denormal slows what follows.
[[maybe_unused]] inline Vector exponential(Vector x) noexcept {
  const Vector in_range = larger(x, broadcast(-700.0));
  const Vector shifted = in_range * 1.4426950408889634074 + rounder;
  const Vector n = shifted - rounder;
  const Vector r = (in_range - n * log2_high) - n * log2_low;  // |r| <= log(2) / 2
  // Taylor to r^13, rest below 1e-17; in pairs and pairs of pairs, so that the products need not wait in one
  // row.
  const Vector r2 = r * r;
  const Vector r4 = r2 * r2;
  const Vector low = (0.5 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
  const Vector middle = (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362880.0));
  const Vector high =
      (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + r2 * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0));
  const Vector series = low + r4 * (middle + r4 * high);
  const Vector mantissa = 1.0 + (r + r2 * series);
  const Bits scaled =
      reinterpret_cast<const Bits&>(mantissa) + (reinterpret_cast<const Bits&>(shifted) << 52);
  return x > -700.0 ? reinterpret_cast<const Vector&>(scaled) : Vector{};
}

/// log(x) for positive normal x, about 2 ulp.
[[maybe_unused]] inline Vector logarithm(Vector x) noexcept {
  const Bits bits = reinterpret_cast<const Bits&>(x);
  // Subtracting the bits of sqrt(1/2) first puts the mantissa into [sqrt(1/2), sqrt(2)).
  constexpr std::int64_t root_half = 0x3fe6a09e667f3bcd;
  const Bits exponent = (bits - root_half) >> 52;
  const Bits mantissa_bits = bits - (exponent << 52);
  const Bits exponent_bits = exponent + rounder_bits;
  const Vector m = reinterpret_cast<const Vector&>(mantissa_bits);
  const Vector n = reinterpret_cast<const Vector&>(exponent_bits) - rounder;
  const Vector f = (m - 1.0) / (m + 1.0);  // log m = 2 atanh f, |f| < 0.172
  const Vector s = f * f;
  const Vector s2 = s * s;
  const Vector s4 = s2 * s2;
  const Vector low = (2.0 / 3.0 + s * (2.0 / 5.0)) + s2 * (2.0 / 7.0 + s * (2.0 / 9.0));
  const Vector high = (2.0 / 11.0 + s * (2.0 / 13.0)) + s2 * (2.0 / 15.0 + s * (2.0 / 17.0));
  const Vector series = low + s4 * (high + s4 * (2.0 / 19.0 + s * (2.0 / 21.0)));
  return n * log2_high + (2.0 * f + (f * s * series + n * log2_low));
}

}  // namespace
}  // namespace mixstream::variants
