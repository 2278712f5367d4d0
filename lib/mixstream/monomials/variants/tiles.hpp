// Register tiles: left columns times right columns, summed over the rows of a block. Only for variant.cpp.
#pragma once

#include "mixstream/monomials/variants/lanes.hpp"
#include "mixstream/monomials/variants/variant.hpp"

namespace mixstream::variants {
namespace {

/// totals += value, the rounding error of the addition going to the compensation (two-sum).
template <int Width>
MIXSTREAM_INLINE void add_exactly(Totals totals, std::size_t position, typename Vector<Width>::Type value) {
  const auto before = load_anywhere<Width>(totals.sums + position);
  const auto after = before + value;
  const auto taken = after - before;
  const auto error = (before - (after - taken)) + (value - taken);
  store_anywhere<Width>(totals.sums + position, after);
  store_anywhere<Width>(totals.compensation + position,
                        load_anywhere<Width>(totals.compensation + position) + error);
}

/// Closes a tile: adds the lanes of each part, and the result to the totals. Row i of the tile's Columns
/// totals starts at starts[i].
template <int Rows, int Columns>
MIXSTREAM_INLINE void add_parts(const Lanes* parts, Totals totals, const std::size_t* starts) {
  if constexpr (Columns % width == 0) {
    for (int row = 0; row < Rows; ++row) {
      for (int column = 0; column < Columns; column += width) {
        add_exactly<width>(totals, starts[row] + column, sums_of(parts + row * Columns + column));
      }
    }
  } else if (Columns == 1 && Rows > 1 && starts[Rows - 1] - starts[0] == Rows - 1) {
    add_parts<1, Rows>(parts, totals, starts);  // a single column whose totals follow each other
  } else {                                      // totals that do not lie vector by vector: two at a time
    constexpr int count = (Rows * Columns + width - 1) / width * width;
    Lanes padded[count] = {};
    for (int part = 0; part < Rows * Columns; ++part) padded[part] = parts[part];
    alignas(64) double values[count];
    for (int part = 0; part < count; part += width) store(values + part, sums_of(padded + part));
    for (int row = 0; row < Rows; ++row) {
      const double* value = values + row * Columns;
      for (int column = 0; column + 2 <= Columns; column += 2) {
        add_exactly<2>(totals, starts[row] + column, load_anywhere<2>(value + column));
      }
      if constexpr (Columns % 2 != 0) add_exactly<1>(totals, starts[row] + Columns - 1, value[Columns - 1]);
    }
  }
}

/// The monomial columns of a block, ready to multiply.
struct Table {
  const double* left;   ///< the columns times the weights
  const double* right;  ///< the columns
  std::size_t rows;     ///< a multiple of step; rows beyond the block's are zero
};

constexpr int wide = width > 4 ? width : 4;  ///< right columns of a main tile

/// parts += left columns times right columns, for the rows of one vector.
template <int Left, int Right>
MIXSTREAM_INLINE void multiply_rows(const double* const* left, const double* const* right, std::size_t row,
                              Lanes* parts) {
  if constexpr (Left <= Right) {
    Lanes a[Left];
    for (int i = 0; i < Left; ++i) {
      a[i] = load(left[i] + row);
    }
    for (int j = 0; j < Right; ++j) {
      Lanes b = load(right[j] + row);
      for (int i = 0; i < Left; ++i) multiply_add(parts[i * Right + j], a[i], b);
    }
  } else {
    Lanes b[Right];
    for (int j = 0; j < Right; ++j) {
      b[j] = load(right[j] + row);
    }
    for (int i = 0; i < Left; ++i) {
      Lanes a = load(left[i] + row);
      for (int j = 0; j < Right; ++j) multiply_add(parts[i * Right + j], a, b[j]);
    }
  }
}

/// Some left columns and where their rows of totals start.
template <int Left>
struct LeftColumns {
  const double* columns[Left];
  std::size_t starts[Left];

  MIXSTREAM_MEMBER LeftColumns(const Plan& plan, const Table& table, std::size_t first) {
    for (int i = 0; i < Left; ++i) {
      columns[i] = table.left + plan.left_offsets[first + i];
      starts[i] = plan.row_starts[first + i];
    }
  }
};

/// parts += left columns times right columns, for the rows of one step.
template <int Left, int Right>
MIXSTREAM_INLINE void multiply_step(const double* const* left, const double* const* right, std::size_t row,
                                    Lanes* parts) {
#pragma GCC unroll 4
  for (int part = 0; part < step; part += width) multiply_rows<Left, Right>(left, right, row + part, parts);
}

/// The totals of some left columns and right columns [r, r + Right). `upcoming` is a column wanted soon.
template <int Left, int Right>
MIXSTREAM_INLINE void tile(const Plan& plan, const Table& table, const LeftColumns<Left>& some, std::size_t r,
                           const double* upcoming, Totals totals) {
  const double* left[Left];
  const double* right[Right];
  std::size_t starts[Left];
  for (int i = 0; i < Left; ++i) {
    left[i] = some.columns[i];
    starts[i] = some.starts[i] + r;
    keep_pointer(left[i]);
  }
  for (int j = 0; j < Right; ++j) {
    right[j] = table.right + (r + j) * plan.stride;
    keep_pointer(right[j]);
  }
  Lanes parts[Left * Right] = {};
  for (std::size_t row = 0; row < table.rows; row += step) {
    __builtin_prefetch(upcoming + row);
    if constexpr (step > 8) __builtin_prefetch(upcoming + row + 8);
#pragma GCC unroll 4
    for (int i = 0; i < step; i += width) multiply_rows<Left, Right>(left, right, row + i, parts);
  }
  add_parts<Left, Right>(parts, totals, starts);
}

/// The last `count` <= Left left columns of a strip.
template <int Left, int Right>
void strip_rest(const Plan& plan, const Table& table, std::size_t l, std::size_t count, std::size_t r,
                Totals totals) {
  if constexpr (Left > 0) {
    if (count == Left) {
      tile<Left, Right>(plan, table, {plan, table, l}, r, table.right, totals);
    } else {
      strip_rest<Left - 1, Right>(plan, table, l, count, r, totals);
    }
  }
}

/// Columns [r, r + Right), left columns [l, end).
template <int Left, int Right>
void strip(const Plan& plan, const Table& table, std::size_t l, std::size_t end, std::size_t r,
           Totals totals) {
  for (; l + Left <= end; l += Left) tile<Left, Right>(plan, table, {plan, table, l}, r, table.right, totals);
  strip_rest<Left - 1, Right>(plan, table, l, end - l, r, totals);
}

/// A rectangle whose columns, a multiple of `wide`, stay in the first-level cache while the left columns go by.
void panel(const Plan& plan, const Table& table, const Rectangle& part, Totals totals) {
  std::size_t l = part.left_begin;
  for (; l + 3 <= part.left_end; l += 3) {
    const LeftColumns<3> left(plan, table, l);
    std::size_t next = l + 3;
    for (std::size_t r = part.right_begin; r < part.right_end; r += wide, ++next) {
      const bool soon = next < l + 6 && next < part.left_end;
      tile<3, wide>(plan, table, left, r, table.left + plan.left_offsets[soon ? next : l], totals);
    }
  }
  for (; l < part.left_end; ++l) {
    const LeftColumns<1> left(plan, table, l);
    std::size_t r = part.right_begin;
    for (; r + 3 * wide <= part.right_end; r += 3 * wide) {
      tile<1, 3 * wide>(plan, table, left, r, table.right, totals);
    }
    for (; r < part.right_end; r += wide) tile<1, wide>(plan, table, left, r, table.right, totals);
  }
}

/// All totals of a rectangle.
void multiply(const Plan& plan, const Table& table, const Rectangle& all, Totals totals) {
  constexpr std::size_t cached = 24 * 1024 / sizeof(double);
  const auto fitting = static_cast<std::uint32_t>(cached / plan.stride / wide * wide);
  const std::uint32_t panel_columns = fitting < wide ? wide : fitting;
  const std::uint32_t whole = all.right_begin + (all.right_end - all.right_begin) / wide * wide;
  for (std::uint32_t r = all.right_begin; r < whole; r += panel_columns) {
    const std::uint32_t end = r + panel_columns < whole ? r + panel_columns : whole;
    panel(plan, table, {all.left_begin, all.left_end, r, end}, totals);
  }
  std::uint32_t r = whole;
  if (wide > 4 && r + 4 <= all.right_end) {
    strip<6, 4>(plan, table, all.left_begin, all.left_end, r, totals);
    r += 4;
  }
  switch (all.right_end - r) {
    case 3: return strip<4, 3>(plan, table, all.left_begin, all.left_end, r, totals);
    case 2: return strip<6, 2>(plan, table, all.left_begin, all.left_end, r, totals);
    case 1: return strip<8, 1>(plan, table, all.left_begin, all.left_end, r, totals);
    default: return;
  }
}

}  // namespace
}  // namespace mixstream::variants
