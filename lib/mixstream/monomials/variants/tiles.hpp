// Register tiles: left columns times right columns, summed over the rows of a block. Only for variant.cpp.
#pragma once

#include "mixstream/monomials/variants/lanes.hpp"
#include "mixstream/monomials/variants/variant.hpp"

namespace mixstream::variants {
namespace {

/// total += value, the rounding error of the addition going to compensation (two-sum).
MIXSTREAM_INLINE void add_exactly(double* sums, double* compensation, Lanes value) {
  const Lanes before = load_loose(sums);
  const Lanes after = before + value;
  const Lanes taken = after - before;
  const Lanes error = (before - (after - taken)) + (value - taken);
  store_loose(sums, after);
  store_loose(compensation, load_loose(compensation) + error);
}

/// Closes a tile: adds the lanes of each part and the result to Rows x Columns totals, row_length apart.
template <int Rows, int Columns>
MIXSTREAM_INLINE void add_parts(const Lanes* parts, Totals totals, std::size_t row_length) {
  if constexpr (Columns % width == 0) {
    for (int row = 0; row < Rows; ++row) {
      for (int column = 0; column < Columns; column += width) {
        add_exactly(totals.sums + row * row_length + column, totals.compensation + row * row_length + column,
                    sums_of(parts + row * Columns + column));
      }
    }
  } else {  // gather, add, scatter: a few totals that do not lie vector by vector
    constexpr int count = (Rows * Columns + width - 1) / width * width;
    Lanes padded[count] = {};
    double sums[count] = {};
    double compensation[count] = {};
    for (int part = 0; part < Rows * Columns; ++part) {
      padded[part] = parts[part];
      sums[part] = totals.sums[part / Columns * row_length + part % Columns];
      compensation[part] = totals.compensation[part / Columns * row_length + part % Columns];
    }
    for (int part = 0; part < count; part += width) {
      add_exactly(sums + part, compensation + part, sums_of(padded + part));
    }
    for (int part = 0; part < Rows * Columns; ++part) {
      totals.sums[part / Columns * row_length + part % Columns] = sums[part];
      totals.compensation[part / Columns * row_length + part % Columns] = compensation[part];
    }
  }
}

/// One rectangle of totals, or what is left of it. `left` lists columns of `table` that start at left_table.
struct Rectangle {
  const double* left_table;
  const std::uint32_t* left;
  std::size_t left_count;
  const double* right;  ///< first right column; the others follow
  std::size_t right_count;
  std::size_t stride;
  std::size_t rows;  ///< a multiple of width; rows beyond the block's are zero
  Totals totals;
  std::size_t row_length;
};

/// The totals of left columns [l, l + Left) and right columns [r, r + Right).
template <int Left, int Right>
MIXSTREAM_INLINE void tile(const Rectangle& rectangle, std::size_t l, std::size_t r) {
  const double* left[Left];
  const double* right[Right];
  for (int i = 0; i < Left; ++i) left[i] = rectangle.left_table + rectangle.left[l + i] * rectangle.stride;
  for (int i = 0; i < Right; ++i) right[i] = rectangle.right + (r + i) * rectangle.stride;
  Lanes parts[Left * Right] = {};
  for (std::size_t row = 0; row < rectangle.rows; row += width) {
    if constexpr (Left <= Right) {
      Lanes a[Left];
      for (int i = 0; i < Left; ++i) a[i] = load(left[i] + row);
      for (int j = 0; j < Right; ++j) {
        Lanes b = load(right[j] + row);
        keep_in_register(b);
        for (int i = 0; i < Left; ++i) parts[i * Right + j] = multiply_add(a[i], b, parts[i * Right + j]);
      }
    } else {
      Lanes b[Right];
      for (int j = 0; j < Right; ++j) b[j] = load(right[j] + row);
      for (int i = 0; i < Left; ++i) {
        Lanes a = load(left[i] + row);
        keep_in_register(a);
        for (int j = 0; j < Right; ++j) parts[i * Right + j] = multiply_add(a, b[j], parts[i * Right + j]);
      }
    }
  }
  const std::size_t first = l * rectangle.row_length + r;
  add_parts<Left, Right>(parts, {rectangle.totals.sums + first, rectangle.totals.compensation + first},
                         rectangle.row_length);
}

/// A strip Right columns wide, all left columns: tiles of Left, then of Rest, then single rows.
template <int Left, int Rest, int Right>
void strip(const Rectangle& rectangle, std::size_t r) {
  std::size_t l = 0;
  for (; l + Left <= rectangle.left_count; l += Left) tile<Left, Right>(rectangle, l, r);
  for (; l + Rest <= rectangle.left_count; l += Rest) tile<Rest, Right>(rectangle, l, r);
  for (; l < rectangle.left_count; ++l) tile<1, Right>(rectangle, l, r);
}

/// All totals of a rectangle.
void multiply(const Rectangle& rectangle) {
  constexpr int wide = width > 4 ? width : 4;
  std::size_t r = 0;
  for (; r + wide <= rectangle.right_count; r += wide) strip<3, 3, wide>(rectangle, r);
  if (wide > 4 && r + 4 <= rectangle.right_count) {
    strip<3, 3, 4>(rectangle, r);
    r += 4;
  }
  switch (rectangle.right_count - r) {
    case 3:
      return strip<4, 2, 3>(rectangle, r);
    case 2:
      return strip<6, 3, 2>(rectangle, r);
    case 1:
      return strip<12, 3, 1>(rectangle, r);
    default:
      return;
  }
}

}  // namespace
}  // namespace mixstream::variants
