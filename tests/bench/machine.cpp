#include "machine.hpp"

#include <cstdint>
#include <vector>

#include "measure.hpp"
#include "mixstream/cpu/instruction_set.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bench {
namespace {

constexpr int steps = 200000;
constexpr int chains = 12;  // enough to hide the latency of every core we know

double plain_chains() {
  double sums[chains] = {};
  for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (double& sum : sums) {
      sum = sum * 0.5 + 1.0;
#if defined(__x86_64__)
      asm volatile("" : "+x"(sum));  // keeps it, and keeps the compiler from making vectors of them
#endif
    }
  }
  return static_cast<double>(steps) * chains;
}

#if defined(__x86_64__)
__attribute__((target("sse2"))) double sse2_chains() {
  __m128d sums[chains] = {};
  const __m128d half = _mm_set1_pd(0.5);
  for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (__m128d& sum : sums) {
      sum = _mm_add_pd(_mm_mul_pd(sum, half), half);
      asm volatile("" : "+x"(sum));
    }
  }
  return static_cast<double>(steps) * chains * 2;
}

__attribute__((target("avx2,fma"))) double avx2_chains() {
  __m256d sums[chains] = {};
  const __m256d half = _mm256_set1_pd(0.5);
  for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (__m256d& sum : sums) {
      sum = _mm256_fmadd_pd(sum, half, half);
      asm volatile("" : "+x"(sum));
    }
  }
  return static_cast<double>(steps) * chains * 4;
}

__attribute__((target("avx512f"))) double avx512_chains() {
  __m512d sums[chains] = {};
  const __m512d half = _mm512_set1_pd(0.5);
  for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (__m512d& sum : sums) {
      sum = _mm512_fmadd_pd(sum, half, half);
      asm volatile("" : "+v"(sum));
    }
  }
  return static_cast<double>(steps) * chains * 8;
}
#endif

}  // namespace

double run_multiply_adds() {
  switch (mixstream::best_instruction_set()) {
#if defined(__x86_64__)
    case mixstream::InstructionSet::avx512:
      return avx512_chains();
    case mixstream::InstructionSet::avx2:
      return avx2_chains();
    case mixstream::InstructionSet::sse2:
      return sse2_chains();
#endif
    default:
      return plain_chains();
  }
}

double read_memory() {
  static const std::vector<std::uint64_t> buffer(std::size_t{1} << 24, 1);  // 128 MiB
  std::uint64_t sums[8] = {};
  for (std::size_t i = 0; i < buffer.size(); i += 8) {
    for (std::size_t j = 0; j < 8; ++j) sums[j] += buffer[i + j];
  }
  keep(sums);
  return static_cast<double>(buffer.size() * sizeof(std::uint64_t));
}

}  // namespace bench
