// The expectation step on one block of rows, compiled once per instruction set.
#pragma once

#include <cstddef>

namespace mixstream::variants {

inline constexpr std::size_t em_block_rows = 64;

/// A mixture as the kernel wants it.
struct Laws {
  std::size_t component_count;
  std::size_t feature_count;
  const double* coefficients;     // k x d
  const double* offsets;          // log pi_h - log(2 pi s2_h) / 2
  const double* half_precisions;  // 1 / (2 s2_h)
};

/// Returns sum w log p(y | x) over a block and, unless sums is null, adds to them for every component the
/// lower triangle of sum w r_h z z' with z = (x, e_h), e_h = y - beta_h . x, and then sum w r_h. block: d
/// columns of x, then y, then w, em_block_rows numbers each; scratch: 2 k + 1 such columns, of which the last
/// then holds log p(y | x).
using ExpectedSums = double (*)(const double* block, const Laws& laws, double* scratch,
                                double* sums) noexcept;

double expected_sums_plain(const double* block, const Laws& laws, double* scratch, double* sums) noexcept;
double expected_sums_avx2(const double* block, const Laws& laws, double* scratch, double* sums) noexcept;

}  // namespace mixstream::variants
