#include "mixstream/modes/variants/tangents.hpp"

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

/// Eight columns of one row of the triangle at a time: sums stay in registers over all rows.
void add_products(std::size_t rows, std::size_t parameters, std::size_t stride,
                  const double* __restrict scores, const double* __restrict weights,
                  double* __restrict scratch, double* __restrict packed) noexcept {
  constexpr std::size_t width = 8;
  for (std::size_t t = 0; t < rows; ++t) {
    for (std::size_t q = 0; q < stride; ++q) scratch[t * stride + q] = weights[t] * scores[t * stride + q];
  }
  for (std::size_t i = 0; i < parameters; ++i) {
    double* row = packed + i * (i + 1) / 2;
    for (std::size_t at = 0; at <= i; at += width) {
      double sums[width] = {};
      for (std::size_t t = 0; t < rows; ++t) {
        const double own = scratch[t * stride + i];
        const double* __restrict from = scores + t * stride + at;
        for (std::size_t q = 0; q < width; ++q) sums[q] += own * from[q];
      }
      const std::size_t end = i + 1 - at < width ? i + 1 - at : width;
      for (std::size_t q = 0; q < end; ++q) row[at + q] += sums[q];
    }
  }
}

}  // namespace

TangentKernels MIXSTREAM_KERNEL_ENTRY() noexcept {
  return {combine, finish, add_products};
}

}  // namespace mixstream::variants
