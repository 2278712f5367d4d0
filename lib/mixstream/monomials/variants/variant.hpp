// One source (variant.cpp), compiled once for each instruction set; BlockKernel chooses at run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mixstream::variants {

/// Left columns [left_begin, left_end) of the plan's list times right columns [right_begin, right_end) of the
/// table.
struct Rectangle {
  std::uint32_t left_begin;
  std::uint32_t left_end;
  std::uint32_t right_begin;
  std::uint32_t right_end;
};

/// A column of the table is the product of two before it, given by where they start: the pair (0, i, j) and
/// the variable (0, 0, k).
struct Factors {
  std::uint32_t pair;
  std::uint32_t variable;
};

/// What to multiply with what, for m variables. A left column is a degree-3 monomial (i, j, a); pivot after
/// pivot, in left-rank order. Its product with right column c belongs at row_starts[left] + c.
struct Plan {
  std::size_t variables;
  std::size_t stride;                 ///< doubles from one column to the next; columns start on a cache line
  const Factors* factors;             ///< of every column of the table
  std::size_t columns;                ///< N(m, 3)
  const std::uint32_t* left_offsets;  ///< where the left column starts in the table
  const std::uint32_t* row_starts;
  const std::uint32_t* pairs;   ///< the columns (0, i, j) in left-rank order of (i, j)
  const Rectangle* rectangles;  ///< all but the first two pivots and the last: while the table is built
  std::size_t rectangle_count;
  bool panels;  ///< whether turning right columns into rows is worth while, see panels.hpp
};

/// A block of rows, column by column.
struct Block {
  std::size_t rows;
  const double* values;
  const double* weights;  ///< null: all are 1
};

/// Two-term totals: the value is sum + compensation.
struct Totals {
  double* sums;
  double* compensation;
};

/// Doubles of a panel, see panels.hpp: most of a usual first-level cache.
inline constexpr std::size_t panel_doubles = std::size_t{3} * 1024;

using Accumulate = void (*)(const Plan&, const Block&, double* workspace, Totals) noexcept;

void accumulate_plain(const Plan&, const Block&, double* workspace, Totals) noexcept;
void accumulate_sse2(const Plan&, const Block&, double* workspace, Totals) noexcept;
void accumulate_avx2(const Plan&, const Block&, double* workspace, Totals) noexcept;
void accumulate_avx512(const Plan&, const Block&, double* workspace, Totals) noexcept;
void accumulate_wide(const Plan&, const Block&, double* workspace,
                     Totals) noexcept;  ///< tests only: 8 lanes on AVX2

}  // namespace mixstream::variants
