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
constexpr int step = 4 * width;  ///< rows of one turn of a loop; blocks are filled up to a multiple

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

/// A vector of any width, for a few numbers at any address.
template <int Width>
struct Vector {
  typedef double Type __attribute__((vector_size(8 * Width)));
};
template <>
struct Vector<1> {
  using Type = double;
};

template <int Width>
MIXSTREAM_INLINE typename Vector<Width>::Type load_anywhere(const double* from) {
  typename Vector<Width>::Type value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
template <int Width>
MIXSTREAM_INLINE void store_anywhere(double* to, typename Vector<Width>::Type value) {
  __builtin_memcpy(to, &value, sizeof value);
}

MIXSTREAM_INLINE Lanes load(const double* aligned) {
  return *reinterpret_cast<const Lanes*>(aligned);
}
MIXSTREAM_INLINE void store(double* aligned, Lanes value) {
  *reinterpret_cast<Lanes*>(aligned) = value;
}

/// The number at `from` in every lane.
MIXSTREAM_INLINE Lanes in_all_lanes(const double* from) {
  return *from - Lanes{};
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

// One step of the reduction below: adds lanes i and i ^ span; lanes without the bit keep a, the others b.
#if MIXSTREAM_KERNEL_WIDTH == 2
MIXSTREAM_INLINE Lanes fold(Lanes a, Lanes b) {
  return __builtin_shufflevector(a, b, 0, 3) + __builtin_shufflevector(a, b, 1, 2);
}
#elif MIXSTREAM_KERNEL_WIDTH == 4  // by hand: GCC makes two shuffles of each, and a blend runs on more ports
MIXSTREAM_INLINE Lanes fold_1(Lanes a, Lanes b) {
  return Lanes(_mm256_blend_pd(a, b, 0b1010)) + Lanes(_mm256_shuffle_pd(a, b, 0b0101));
}
MIXSTREAM_INLINE Lanes fold_2(Lanes a, Lanes b) {
  return Lanes(_mm256_blend_pd(a, b, 0b1100)) + Lanes(_mm256_permute2f128_pd(a, b, 0x21));
}
#elif MIXSTREAM_KERNEL_WIDTH == 8
MIXSTREAM_INLINE Lanes fold_1(Lanes a, Lanes b) {
  return __builtin_shufflevector(a, b, 0, 9, 2, 11, 4, 13, 6, 15) +
         __builtin_shufflevector(a, b, 1, 8, 3, 10, 5, 12, 7, 14);
}
MIXSTREAM_INLINE Lanes fold_2(Lanes a, Lanes b) {
  return __builtin_shufflevector(a, b, 0, 1, 10, 11, 4, 5, 14, 15) +
         __builtin_shufflevector(a, b, 2, 3, 8, 9, 6, 7, 12, 13);
}
MIXSTREAM_INLINE Lanes fold_4(Lanes a, Lanes b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 12, 13, 14, 15) +
         __builtin_shufflevector(a, b, 4, 5, 6, 7, 8, 9, 10, 11);
}
#endif

/// Lane i of the result is the sum of all lanes of parts[i].
MIXSTREAM_INLINE Lanes sums_of(const Lanes* parts) {
#if MIXSTREAM_KERNEL_WIDTH == 1
  return parts[0];
#elif MIXSTREAM_KERNEL_WIDTH == 2
  return fold(parts[0], parts[1]);
#elif MIXSTREAM_KERNEL_WIDTH == 4
  return fold_2(fold_1(parts[0], parts[1]), fold_1(parts[2], parts[3]));
#else
  return fold_4(fold_2(fold_1(parts[0], parts[1]), fold_1(parts[2], parts[3])),
                fold_2(fold_1(parts[4], parts[5]), fold_1(parts[6], parts[7])));
#endif
}

}  // namespace
}  // namespace mixstream::variants
