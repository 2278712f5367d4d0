#include "mixstream/modes/variants/tangents.hpp"

#include "mixstream/likelihood/variants/vector_math.hpp"

// MIXSTREAM_KERNEL_ENTRY: the name under which this instruction set's functions are handed out.

namespace mixstream::variants {
namespace {

void combine(std::size_t k, std::size_t stride, const double* __restrict shares,
             const double* __restrict tangents, double* __restrict combined) noexcept {
  for (std::size_t j = 0; j < k; ++j) {
    double* __restrict row = combined + j * stride;
    const double first = shares[j];
    for (std::size_t q = 0; q < stride; ++q) row[q] = first * tangents[q];
    for (std::size_t i = 1; i < k; ++i) {
      const double share = shares[i * k + j];
      const double* __restrict from = tangents + i * stride;
      for (std::size_t q = 0; q < stride; ++q) row[q] += share * from[q];
    }
  }
}

void finish(std::size_t k, std::size_t stride, const double* __restrict filtered,
            const double* __restrict combined, double* __restrict score,
            double* __restrict tangents) noexcept {
  for (std::size_t q = 0; q < stride; ++q) score[q] = combined[q];
  for (std::size_t j = 1; j < k; ++j) {
    for (std::size_t q = 0; q < stride; ++q) score[q] += combined[j * stride + q];
  }
  for (std::size_t j = 0; j < k; ++j) {
    const double share = filtered[j];
    for (std::size_t q = 0; q < stride; ++q)
      tangents[j * stride + q] = combined[j * stride + q] - share * score[q];
  }
}

constexpr std::size_t tall = 8;  // rows of a tile: so many sums that none waits for itself

/// A tile of the triangle at a time, a vector wide: its sums stay in registers over all rows of scores.
void add_products(std::size_t rows, std::size_t parameters, std::size_t stride,
                  const double* __restrict scores, const double* __restrict weights,
                  double* __restrict scratch, double* __restrict packed) noexcept {
  for (std::size_t t = 0; t < rows; ++t) {
    for (std::size_t q = 0; q < stride; ++q) scratch[t * stride + q] = weights[t] * scores[t * stride + q];
  }
  for (std::size_t top = 0; top < parameters; top += tall) {
    for (std::size_t at = 0; at < top + tall && at < parameters; at += vector_width) {
      Vector sums[tall] = {};
      for (std::size_t t = 0; t < rows; ++t) {
        const double* own = scratch + t * stride + top;
        const Vector from = load(scores + t * stride + at);
        for (std::size_t p = 0; p < tall; ++p) sums[p] += own[p] * from;
      }
      for (std::size_t i = top; i < top + tall && i < parameters; ++i) {
        double* row = packed + i * (i + 1) / 2;
        for (std::size_t j = at; j < at + vector_width && j <= i; ++j) row[j] += sums[i - top][j - at];
      }
    }
  }
}

}  // namespace

TangentKernels MIXSTREAM_KERNEL_ENTRY() noexcept {
  return {combine, finish, add_products};
}

}  // namespace mixstream::variants
