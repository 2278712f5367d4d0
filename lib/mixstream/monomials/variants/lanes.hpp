// A vector of `width` doubles, by the compilers' vector extension. Only for variant.cpp: everything here has
// internal linkage, so that no code compiled for one instruction set can serve another.
#pragma once

#include <cstddef>

#if defined(__x86_64__) && MIXSTREAM_KERNEL_WIDTH > 2
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define MIXSTREAM_INLINE __attribute__((always_inline)) static inline
#define MIXSTREAM_FLAT __attribute__((always_inline))

namespace mixstream::variants {
namespace {

constexpr int width = MIXSTREAM_KERNEL_WIDTH;

#if MIXSTREAM_KERNEL_WIDTH == 1
using Lanes = double;
#else
typedef double Lanes __attribute__((vector_size(8 * MIXSTREAM_KERNEL_WIDTH)));
#endif

template <int Value>
struct Index {
  MIXSTREAM_FLAT constexpr operator int() const { return Value; }
};

/// body(0), ..., body(Count - 1), written out, so that arrays of vectors live in registers.
template <int Count, int First = 0, class Body>
MIXSTREAM_INLINE void repeat(const Body& body) {
  if constexpr (First < Count) {
    body(Index<First>{});
    repeat<Count, First + 1>(body);
  }
}

MIXSTREAM_INLINE Lanes load(const double* aligned) {
  return *reinterpret_cast<const Lanes*>(aligned);
}
MIXSTREAM_INLINE void store(double* aligned, Lanes value) {
  *reinterpret_cast<Lanes*>(aligned) = value;
}
MIXSTREAM_INLINE Lanes load_anywhere(const double* from) {
  Lanes value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
MIXSTREAM_INLINE void store_anywhere(double* to, Lanes value) {
  __builtin_memcpy(to, &value, sizeof value);
}
MIXSTREAM_INLINE Lanes broadcast(const double* from) {
  return *from - Lanes{};  // the compilers make one instruction of it
}

/// c += a * b, fused where the instruction set has it. Written out for the vectors that matter: GCC would
/// fold the load of a shared factor into each of its uses, and move sums between registers.
MIXSTREAM_INLINE void multiply_add(Lanes& c, Lanes a, Lanes b) {
#if MIXSTREAM_KERNEL_WIDTH == 8 && defined(__AVX512F__)
  asm("vfmadd231pd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
#elif MIXSTREAM_KERNEL_WIDTH == 4 && defined(__FMA__)
  asm("vfmadd231pd %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
#elif MIXSTREAM_KERNEL_WIDTH == 8 && defined(__FMA__)
  const auto low = [](Lanes v) { return __builtin_shufflevector(v, v, 0, 1, 2, 3); };
  const auto high = [](Lanes v) { return __builtin_shufflevector(v, v, 4, 5, 6, 7); };
  c = __builtin_shufflevector(_mm256_fmadd_pd(low(a), low(b), low(c)),
                              _mm256_fmadd_pd(high(a), high(b), high(c)), 0, 1, 2, 3, 4, 5, 6, 7);
#elif MIXSTREAM_KERNEL_WIDTH == 2 && defined(__aarch64__)
  c = vfmaq_f64(c, a, b);
#else
  c += a * b;
#endif
}

/// Keeps the compiler from expressing one column's address by another's, which costs an addition a load.
template <class Pointer>
MIXSTREAM_INLINE void keep_pointer(Pointer& pointer) {
  asm("" : "+r"(pointer));
}

#if MIXSTREAM_KERNEL_WIDTH >= 4
/// Exchanges the odd blocks of a with the even blocks of b, blocks of Span lanes.
template <int Span>
MIXSTREAM_INLINE void exchange(Lanes& a, Lanes& b) {
  const Lanes x = a;
  const Lanes y = b;
#if MIXSTREAM_KERNEL_WIDTH == 4
  if constexpr (Span == 1) {
    a = __builtin_shufflevector(x, y, 0, 4, 2, 6);
    b = __builtin_shufflevector(x, y, 1, 5, 3, 7);
  } else {
    a = __builtin_shufflevector(x, y, 0, 1, 4, 5);
    b = __builtin_shufflevector(x, y, 2, 3, 6, 7);
  }
#else
  if constexpr (Span == 1) {
    a = __builtin_shufflevector(x, y, 0, 8, 2, 10, 4, 12, 6, 14);
    b = __builtin_shufflevector(x, y, 1, 9, 3, 11, 5, 13, 7, 15);
  } else if constexpr (Span == 2) {
    a = __builtin_shufflevector(x, y, 0, 1, 8, 9, 4, 5, 12, 13);
    b = __builtin_shufflevector(x, y, 2, 3, 10, 11, 6, 7, 14, 15);
  } else {
    a = __builtin_shufflevector(x, y, 0, 1, 2, 3, 8, 9, 10, 11);
    b = __builtin_shufflevector(x, y, 4, 5, 6, 7, 12, 13, 14, 15);
  }
#endif
}
#endif

/// Lane j of rows[i] becomes lane i of rows[j].
MIXSTREAM_INLINE void transpose([[maybe_unused]] Lanes* rows) {
#if MIXSTREAM_KERNEL_WIDTH == 2
  const Lanes first = __builtin_shufflevector(rows[0], rows[1], 0, 2);
  rows[1] = __builtin_shufflevector(rows[0], rows[1], 1, 3);
  rows[0] = first;
#elif MIXSTREAM_KERNEL_WIDTH >= 4
  repeat<width / 2>([&](auto i) MIXSTREAM_FLAT { exchange<1>(rows[2 * i], rows[2 * i + 1]); });
  repeat<width / 2>(
      [&](auto i) MIXSTREAM_FLAT { exchange<2>(rows[i / 2 * 4 + i % 2], rows[i / 2 * 4 + i % 2 + 2]); });
#if MIXSTREAM_KERNEL_WIDTH == 8
  repeat<4>([&](auto i) MIXSTREAM_FLAT { exchange<4>(rows[i], rows[i + 4]); });
#endif
#endif
}

/// Lane i of the result is the sum of all lanes of parts[i].
MIXSTREAM_INLINE Lanes sums_of(const Lanes* parts) {
  Lanes rows[width];
  repeat<width>([&](auto i) MIXSTREAM_FLAT { rows[i] = parts[i]; });
  transpose(rows);
  if constexpr (width == 8) repeat<4>([&](auto i) MIXSTREAM_FLAT { rows[i] += rows[i + 4]; });
  if constexpr (width >= 4) repeat<2>([&](auto i) MIXSTREAM_FLAT { rows[i] += rows[i + 2]; });
  return width > 1 ? rows[0] + rows[width > 1] : rows[0];
}

}  // namespace
}  // namespace mixstream::variants
