// Register tiles: left columns times right columns, summed over the rows of a block. Only for variant.cpp.
//
// Left columns lie row after row. Right columns lie in groups of `width` side by side, a vector for each row,
// so that a vector of sums belongs to totals side by side and nothing need be added across lanes.
#pragma once

#include "mixstream/monomials/variants/lanes.hpp"
#include "mixstream/monomials/variants/variant.hpp"

namespace mixstream::variants {
namespace {

/// totals += value, the rounding error of the addition going to the compensation (two-sum).
MIXSTREAM_INLINE void add_exactly(Totals totals, std::size_t position, Lanes value) {
  const Lanes before = load_anywhere(totals.sums + position);
  const Lanes after = before + value;
  const Lanes taken = after - before;
  const Lanes error = (before - (after - taken)) + (value - taken);
  store_anywhere(totals.sums + position, after);
  store_anywhere(totals.compensation + position, load_anywhere(totals.compensation + position) + error);
}

/// The same for a few totals that do not fill vectors.
inline void add_exactly(Totals totals, std::size_t position, const double* values, std::size_t count) {
  for (; count > 0; --count, ++position, ++values) {
    const double before = totals.sums[position];
    const double after = before + *values;
    const double taken = after - before;
    totals.sums[position] = after;
    totals.compensation[position] += (before - (after - taken)) + (*values - taken);
  }
}

/// The columns of a block, ready to multiply.
struct Table {
  const Plan& plan;
  const double* workspace;
  const double* scaled_left;  ///< the left columns times the weights; null: their places in the workspace
  const double* right;        ///< groups; the last one ends with the last right column
  std::size_t group_stride;
  std::size_t shift;  ///< right columns missing in the first group
  std::size_t rows;   ///< a multiple of 8; rows beyond the block's are zero
  Totals totals;

  const double* left(std::size_t l) const {
    return scaled_left != nullptr ? scaled_left + l * plan.stride : workspace + plan.lefts[l].place;
  }
};

/// A strip of a rectangle: some groups of right columns, of which columns [begin, end) count (in places of
/// the group table, that is right column + shift).
struct Strip {
  std::size_t first_group;
  std::size_t begin;
  std::size_t end;
};

/// Adds the sums of a tile that count: columns [begin, end) of the strip.
template <int Left, int Right>
__attribute__((noinline)) void add_partly(const Table& table, const Strip& strip, const std::size_t* starts,
                                          const double* values) {
  const std::size_t first = strip.first_group * width;
  const std::size_t from = first < strip.begin ? strip.begin - first : 0;
  const std::size_t to = first + Right * width < strip.end ? Right * width : strip.end - first;
  for (int i = 0; i < Left; ++i) {
    add_exactly(table.totals, starts[i] + from, values + i * Right * width + from, to - from);
  }
}

/// Sums over one row of Left columns times Right groups. The smaller side stays in registers.
template <int Left, int Right>
MIXSTREAM_INLINE void multiply_row(const double* const* left, const double* const* right, std::size_t row,
                                   Lanes* sums) {
  if constexpr (Left < Right) {
    Lanes a[Left];
    repeat<Left>([&](auto l) MIXSTREAM_FLAT { a[l] = broadcast(left[l] + row); });
    repeat<Right>([&](auto r) MIXSTREAM_FLAT {
      const Lanes b = load(right[r] + row * width);
      repeat<Left>([&](auto l) MIXSTREAM_FLAT { multiply_add(sums[l * Right + r], a[l], b); });
    });
  } else {
    Lanes b[Right];
    repeat<Right>([&](auto r) MIXSTREAM_FLAT { b[r] = load(right[r] + row * width); });
    repeat<Left>([&](auto l) MIXSTREAM_FLAT {
      const Lanes a = broadcast(left[l] + row);
      repeat<Right>([&](auto r) MIXSTREAM_FLAT { multiply_add(sums[l * Right + r], a, b[r]); });
    });
  }
}

/// The totals of left columns [l, l + Left) and the strip's Right groups. Whole: all columns of the groups
/// count.
template <int Left, int Right, bool Whole>
MIXSTREAM_INLINE void tile(const Table& table, std::size_t l, const Strip& strip) {
  const double* left[Left];
  const double* right[Right];
  std::size_t starts[Left];
  repeat<Left>([&](auto i) MIXSTREAM_FLAT {
    left[i] = table.left(l + i);
    starts[i] = table.plan.lefts[l + i].row_start + strip.first_group * width - table.shift;
    keep_pointer(left[i]);
  });
  repeat<Right>([&](auto j) MIXSTREAM_FLAT {
    right[j] = table.right + (strip.first_group + j) * table.group_stride;
    keep_pointer(right[j]);
  });
  const std::size_t rows = table.rows;
  Lanes sums[Left * Right];
  repeat<Left * Right>([&](auto i) MIXSTREAM_FLAT { sums[i] = Lanes{}; });
  for (std::size_t row = 0; row < rows; row += 4) {
    repeat<4>([&](auto i) MIXSTREAM_FLAT { multiply_row<Left, Right>(left, right, row + i, sums); });
  }
  if constexpr (Whole) {
    repeat<Left>([&](auto i) MIXSTREAM_FLAT {
      repeat<Right>([&](auto j) MIXSTREAM_FLAT {
        add_exactly(table.totals, starts[i] + j * width, sums[i * Right + j]);
      });
    });
  } else {
    alignas(64) double values[Left * Right * width];
    repeat<Left * Right>([&](auto i) MIXSTREAM_FLAT { store(values + i * width, sums[i]); });
    add_partly<Left, Right>(table, strip, starts, values);
  }
}

// How many sums to hold in registers: those of the instruction set less what factors need.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int most_sums = 24;
#elif MIXSTREAM_KERNEL_WIDTH >= 4
constexpr int most_sums = 12;
#else
constexpr int most_sums = 9;
#endif
constexpr int most_lefts = 10;  // each needs a pointer

/// `count` tiles of `size` <= Left left columns each, from l on.
template <int Left, int Right>
void tiles(const Table& table, std::size_t l, std::size_t size, std::size_t count, const Strip& strip) {
  if constexpr (Left > 0) {
    if (size < Left) return tiles<Left - 1, Right>(table, l, size, count, strip);
    const std::size_t first = strip.first_group * width;
    if (first >= strip.begin && first + Right * width <= strip.end) {
      for (; count > 0; --count, l += Left) tile<Left, Right, true>(table, l, strip);
    } else {
      for (; count > 0; --count, l += Left) tile<Left, Right, false>(table, l, strip);
    }
  }
}

/// All left columns of a rectangle times Right groups, in tiles of even size.
template <int Right>
void multiply_strip(const Table& table, const Rectangle& all, const Strip& strip) {
  constexpr int most = most_sums / Right < most_lefts ? most_sums / Right : most_lefts;
  const std::size_t lefts = all.left_end - all.left_begin;
  const std::size_t count = (lefts + most - 1) / most;
  const std::size_t larger = lefts % count;  // so many tiles have one column more
  const std::size_t size = lefts / count;
  tiles<most, Right>(table, all.left_begin, size + 1, larger, strip);
  tiles<most, Right>(table, all.left_begin + larger * (size + 1), size, count - larger, strip);
}

/// All totals of a rectangle, strip by strip: a strip stays in the first-level cache while the left columns
/// go by.
void multiply(const Table& table, const Rectangle& all) {
  const std::size_t begin = all.right_begin + table.shift;
  const std::size_t end = all.right_end + table.shift;
  std::size_t group = begin / width;
  const std::size_t last = (end + width - 1) / width;
  const std::size_t most = all.left_end - all.left_begin <= 3 ? 4 : 3;
  for (std::size_t strips = (last - group + most - 1) / most; strips > 0; --strips) {
    const std::size_t groups = (last - group + strips - 1) / strips;
    const Strip strip{group, begin, end};
    switch (groups) {
      case 1:
        multiply_strip<1>(table, all, strip);
        break;
      case 2:
        multiply_strip<2>(table, all, strip);
        break;
      case 3:
        multiply_strip<3>(table, all, strip);
        break;
      default:
        multiply_strip<4>(table, all, strip);
        break;
    }
    group += groups;
  }
}

}  // namespace
}  // namespace mixstream::variants
