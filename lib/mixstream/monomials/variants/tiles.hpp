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
    repeat<Rows>([&](auto row) MIXSTREAM_FLAT {
      repeat<Columns / width>([&](auto i) MIXSTREAM_FLAT {
        add_exactly<width>(totals, starts[row] + i * width, sums_of(parts + row * Columns + i * width));
      });
    });
  } else {  // totals that do not lie vector by vector: two at a time, or one
    constexpr int count = (Rows * Columns + width - 1) / width * width;
    alignas(64) double values[count];
    Lanes padded[count];
    repeat<count>([&](auto i) MIXSTREAM_FLAT {
      padded[i] = Lanes{};
      if constexpr (i < Rows * Columns) padded[i] = parts[i];
    });
    repeat<count / width>([&](auto i)
                              MIXSTREAM_FLAT { store(values + i * width, sums_of(padded + i * width)); });
    if (Columns == 1 && starts[Rows - 1] - starts[0] == Rows - 1) {  // a single column, side by side
      repeat<Rows / 2>([&](auto i) MIXSTREAM_FLAT {
        add_exactly<2>(totals, starts[0] + 2 * i, load_anywhere<2>(values + 2 * i));
      });
      if constexpr (Rows % 2 != 0) add_exactly<1>(totals, starts[0] + Rows - 1, values[Rows - 1]);
      return;
    }
    repeat<Rows>([&](auto row) MIXSTREAM_FLAT {
      const double* value = values + row * Columns;
      repeat<Columns / 2>([&](auto i) MIXSTREAM_FLAT {
        add_exactly<2>(totals, starts[row] + 2 * i, load_anywhere<2>(value + 2 * i));
      });
      if constexpr (Columns % 2 != 0) add_exactly<1>(totals, starts[row] + Columns - 1, value[Columns - 1]);
    });
  }
}

/// The monomial columns of a block, ready to multiply.
struct Table {
  const double* left;   ///< the columns times the weights
  const double* right;  ///< the columns
  std::size_t rows;     ///< a multiple of step; rows beyond the block's are zero
  double* panel;        ///< room for panel_doubles, on a cache line
};

// A main tile: its sums and factors just fill the registers. Without a fused multiply-add the products need
// one.
#if MIXSTREAM_KERNEL_WIDTH >= 4 || defined(__aarch64__)
constexpr int tall = 3;
#else
constexpr int tall = 2;
#endif
constexpr int wide = width > 4 ? width : 4;

/// parts += left columns times right columns, for the rows of one vector. The smaller side stays in
/// registers.
template <int Left, int Right>
MIXSTREAM_INLINE void multiply_rows(const double* const* left, const double* const* right, std::size_t row,
                                    Lanes* parts) {
  if constexpr (Left <= Right) {
    Lanes a[Left];
    repeat<Left>([&](auto l) MIXSTREAM_FLAT { a[l] = load(left[l] + row); });
    repeat<Right>([&](auto r) MIXSTREAM_FLAT {
      const Lanes b = load(right[r] + row);
      repeat<Left>([&](auto l) MIXSTREAM_FLAT { multiply_add(parts[l * Right + r], a[l], b); });
    });
  } else {
    Lanes b[Right];
    repeat<Right>([&](auto r) MIXSTREAM_FLAT { b[r] = load(right[r] + row); });
    repeat<Left>([&](auto l) MIXSTREAM_FLAT {
      const Lanes a = load(left[l] + row);
      repeat<Right>([&](auto r) MIXSTREAM_FLAT { multiply_add(parts[l * Right + r], a, b[r]); });
    });
  }
}

/// The totals of left columns [l, l + Left) and right columns [r, r + Right).
template <int Left, int Right>
MIXSTREAM_INLINE void tile(const Plan& plan, const Table& table, std::size_t l, std::size_t r,
                           Totals totals) {
  const double* left[Left];
  const double* right[Right];
  std::size_t starts[Left];
  repeat<Left>([&](auto i) MIXSTREAM_FLAT {
    left[i] = table.left + plan.left_offsets[l + i];
    starts[i] = plan.row_starts[l + i] + r;
    __builtin_prefetch(totals.sums + starts[i], 1);  // wanted when the tile is done
    __builtin_prefetch(totals.compensation + starts[i], 1);
    keep_pointer(left[i]);
  });
  repeat<Right>([&](auto j) MIXSTREAM_FLAT {
    right[j] = table.right + (r + j) * plan.stride;
    keep_pointer(right[j]);
  });
  const std::size_t rows = table.rows;
  Lanes parts[Left * Right];
  repeat<Left * Right>([&](auto i) MIXSTREAM_FLAT { parts[i] = Lanes{}; });
  for (std::size_t row = 0; row < rows; row += step) {
    repeat<4>([&](auto i)
                  MIXSTREAM_FLAT { multiply_rows<Left, Right>(left, right, row + i * width, parts); });
  }
  add_parts<Left, Right>(parts, totals, starts);
}

/// The last `count` <= Left left columns of a strip.
template <int Left, int Right>
void strip_rest(const Plan& plan, const Table& table, std::size_t l, std::size_t count, std::size_t r,
                Totals totals) {
  if constexpr (Left > 0) {
    if (count == Left) {
      tile<Left, Right>(plan, table, l, r, totals);
    } else {
      strip_rest<Left - 1, Right>(plan, table, l, count, r, totals);
    }
  }
}

/// Columns [r, r + Right), left columns [l, end).
template <int Left, int Right>
void strip(const Plan& plan, const Table& table, std::size_t l, std::size_t end, std::size_t r,
           Totals totals) {
  for (; l + Left <= end; l += Left) tile<Left, Right>(plan, table, l, r, totals);
  strip_rest<Left - 1, Right>(plan, table, l, end - l, r, totals);
}

/// A rectangle whose columns, a multiple of `wide`, stay in the first-level cache while the left columns go
/// by.
void multiply_cached(const Plan& plan, const Table& table, const Rectangle& part, Totals totals) {
  std::size_t l = part.left_begin;
  for (; l + tall <= part.left_end; l += tall) {
    for (std::size_t r = part.right_begin; r < part.right_end; r += wide) {
      tile<tall, wide>(plan, table, l, r, totals);
    }
  }
  for (; l < part.left_end; ++l) {
    std::size_t r = part.right_begin;
    for (; r + 3 * wide <= part.right_end; r += 3 * wide) tile<1, 3 * wide>(plan, table, l, r, totals);
    for (; r + 2 * wide <= part.right_end; r += 2 * wide) tile<1, 2 * wide>(plan, table, l, r, totals);
    for (; r < part.right_end; r += wide) tile<1, wide>(plan, table, l, r, totals);
  }
}

}  // namespace
}  // namespace mixstream::variants
