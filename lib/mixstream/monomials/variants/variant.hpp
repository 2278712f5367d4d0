// One source (variant.cpp), compiled once for each instruction set; BlockKernel chooses at run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mixstream::variants {

/// A degree-3 monomial (i, j, k) as the product of two columns of the pair table: where (0, i, j) and where
/// (0, 0, k) start.
struct Factors {
  std::uint32_t pair;
  std::uint32_t variable;
};

/// A left column: its factors, where it stands in the workspace when weights are 1, and where its row of
/// totals starts: with right column c it makes the total row_start + c.
struct Left {
  Factors factors;
  std::uint32_t place;
  std::uint32_t row_start;
};

/// Left columns [left_begin, left_end) times right columns [right_begin, right_end).
struct Rectangle {
  std::uint32_t left_begin;
  std::uint32_t left_end;
  std::uint32_t right_begin;
  std::uint32_t right_end;
};

/// What to multiply with what, for m variables.
struct Plan {
  std::size_t variables;
  std::size_t stride;           ///< doubles from one column to the next; columns start on a cache line
  std::size_t pair_count;       ///< N(m, 2): columns (0, j, k)
  const Factors* pairs;         ///< these, lexicographic
  std::size_t right_count;      ///< N(m - 1, 3): columns (i, j, k), i >= 1
  const Factors* rights;        ///< these, lexicographic
  std::size_t left_count;       ///< columns (i, j, a), a <= m - 2; the first, of pivot 0, is never asked for
  const Left* lefts;            ///< these, pivot after pivot, in left-rank order
  std::size_t rectangle_count;  ///< for pivots 1 to m - 2; pivots 0 and m - 1 go their own ways
  const Rectangle* rectangles;
  const std::uint32_t* last_pairs;  ///< where (0, i, j) starts, in left-rank order, for the last pivot
  std::size_t last_start;           ///< and its first total
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

using Accumulate = void (*)(const Plan&, const Block&, double* workspace, Totals) noexcept;

void accumulate_plain(const Plan&, const Block&, double* workspace, Totals) noexcept;
void accumulate_sse2(const Plan&, const Block&, double* workspace, Totals) noexcept;
void accumulate_avx2(const Plan&, const Block&, double* workspace, Totals) noexcept;
void accumulate_avx512(const Plan&, const Block&, double* workspace, Totals) noexcept;
/// For tests only: 8 lanes on AVX2.
void accumulate_wide(const Plan&, const Block&, double* workspace, Totals) noexcept;

}  // namespace mixstream::variants
