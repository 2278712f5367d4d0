// One source (variant.cpp), compiled once for each instruction set; BlockKernel chooses at run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mixstream::variants {

/// What a variant reads. Columns are `stride` doubles apart and start on a cache line.
struct Input {
  std::size_t variables;
  std::size_t rows;
  std::size_t stride;
  const double* values;
  const double* weights;
  const std::uint32_t* left_columns;  ///< pivot after pivot, in left-rank order: column of (i, j, pivot)
  const std::uint32_t* consecutive;   ///< 0, 1, 2, ...: the same list for left columns copied side by side
};

/// Two-term totals: the value is sum + compensation.
struct Totals {
  double* sums;
  double* compensation;
};

using Accumulate = void (*)(const Input&, double* workspace, Totals) noexcept;

void accumulate_plain(const Input&, double* workspace, Totals) noexcept;
void accumulate_sse2(const Input&, double* workspace, Totals) noexcept;
void accumulate_avx2(const Input&, double* workspace, Totals) noexcept;
void accumulate_avx512(const Input&, double* workspace, Totals) noexcept;
void accumulate_wide(const Input&, double* workspace, Totals) noexcept;  ///< tests only: 8 lanes on AVX2

}  // namespace mixstream::variants
