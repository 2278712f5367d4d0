// Panels: right columns turned into rows, so that a vector holds `width` columns of one row. A left factor is
// then the same in all lanes, sums come out lane by lane as the totals lie, and nothing is folded when a tile
// is closed. Turning costs about as much as ten left columns: for rectangles with many. Only for variant.cpp.
#pragma once

#include "mixstream/monomials/variants/tiles.hpp"

namespace mixstream::variants {
namespace {

#if MIXSTREAM_KERNEL_WIDTH >= 4
constexpr std::size_t fewest_lefts = 20;  ///< from here on any number is a sum of sixes and fives

/// Rows of a block.
struct Rows {
  std::size_t first;
  std::size_t count;
};

/// Two rows of `width` columns, row by row.
struct TwoRows {
  Lanes first;
  Lanes second;
};

/// Rows `row` and `row + 1` of the columns that start `stride` apart.
MIXSTREAM_INLINE TwoRows turn(const double* columns, std::size_t stride) {
  const auto two = [&](int column) MIXSTREAM_FLAT {
    return load_anywhere<2>(columns + static_cast<std::size_t>(column) * stride);
  };
#if MIXSTREAM_KERNEL_WIDTH == 4
  const Lanes even = __builtin_shufflevector(two(0), two(2), 0, 1, 2, 3);
  const Lanes odd = __builtin_shufflevector(two(1), two(3), 0, 1, 2, 3);
  return {__builtin_shufflevector(even, odd, 0, 4, 2, 6), __builtin_shufflevector(even, odd, 1, 5, 3, 7)};
#else
  const auto eight = [&](int column) MIXSTREAM_FLAT {
    const auto low = __builtin_shufflevector(two(column), two(column + 2), 0, 1, 2, 3);
    const auto high = __builtin_shufflevector(two(column + 4), two(column + 6), 0, 1, 2, 3);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
  };
  const Lanes even = eight(0);
  const Lanes odd = eight(1);
  return {__builtin_shufflevector(even, odd, 0, 8, 2, 10, 4, 12, 6, 14),
          __builtin_shufflevector(even, odd, 1, 9, 3, 11, 5, 13, 7, 15)};
#endif
}

/// Fills the panel: Vectors * width columns from `columns` on, row by row.
template <int Vectors>
void fill_panel(const double* columns, std::size_t stride, std::size_t rows, double* panel) {
  for (std::size_t row = 0; row < rows; row += 2, panel += 2 * Vectors * width) {
    repeat<Vectors>([&](auto v) MIXSTREAM_FLAT {
      const TwoRows turned = turn(columns + v * width * stride + row, stride);
      store(panel + v * width, turned.first);
      store(panel + (Vectors + v) * width, turned.second);
    });
  }
}

/// The totals of left columns [l, l + Left) and the panel's columns, which are those from r on.
template <int Left, int Vectors>
MIXSTREAM_INLINE void panel_tile(const Plan& plan, const Table& table, const Rows& rows, std::size_t l,
                                 std::size_t r, Totals totals) {
  const double* left[Left];
  std::size_t starts[Left];
  repeat<Left>([&](auto i) MIXSTREAM_FLAT {
    left[i] = table.left + plan.left_offsets[l + i] + rows.first;
    starts[i] = plan.row_starts[l + i] + r;
    keep_pointer(left[i]);
  });
  Lanes parts[Left * Vectors];
  repeat<Left * Vectors>([&](auto i) MIXSTREAM_FLAT { parts[i] = Lanes{}; });
  const double* panel = table.panel;
  std::size_t row = 0;
  for (std::size_t part = 0; part < Left; ++part) {
    repeat<(Vectors * width + 14) / 8>([&](auto line) MIXSTREAM_FLAT {
      const std::size_t at = line * 8 < Vectors * width ? line * 8 : Vectors * width - 1;
      __builtin_prefetch(totals.sums + starts[part] + at, 1);
      __builtin_prefetch(totals.compensation + starts[part] + at, 1);
    });
    const std::size_t end = part + 1 < Left ? row + rows.count / Left / 4 * 4 : rows.count;
    for (; row < end; row += 4, panel += 4 * Vectors * width) {
      repeat<4>([&](auto more) MIXSTREAM_FLAT {
        Lanes b[Vectors];
        repeat<Vectors>([&](auto v) MIXSTREAM_FLAT { b[v] = load(panel + (more * Vectors + v) * width); });
        repeat<Left>([&](auto i) MIXSTREAM_FLAT {
          const Lanes a = in_all_lanes(left[i] + row + more);
          repeat<Vectors>([&](auto v) MIXSTREAM_FLAT { multiply_add(parts[i * Vectors + v], a, b[v]); });
        });
      });
    }
  }
  repeat<Left>([&](auto i) MIXSTREAM_FLAT {
    repeat<Vectors>([&](auto v) MIXSTREAM_FLAT {
      add_exactly<width>(totals, starts[i] + v * width, parts[i * Vectors + v]);
    });
  });
}

/// Left columns by tiles of Left or one fewer; there must be enough for that, see fewest_lefts.
template <int Left, int Vectors>
void multiply_panel(const Plan& plan, const Table& table, const Rows& rows, std::size_t l, std::size_t end,
                    std::size_t r, Totals totals) {
  fill_panel<Vectors>(table.right + r * plan.stride + rows.first, plan.stride, rows.count, table.panel);
  while (l < end) {
    const std::size_t tiles = (end - l + Left - 1) / Left;
    if (end - l > tiles * (Left - 1)) {
      panel_tile<Left, Vectors>(plan, table, rows, l, r, totals);
      l += Left;
    } else {
      panel_tile<Left - 1, Vectors>(plan, table, rows, l, r, totals);
      l += Left - 1;
    }
  }
}

/// The totals of a rectangle's first columns, as many as make whole panels; returns where those end.
std::uint32_t multiply_by_panels(const Plan& plan, const Table& table, const Rectangle& all, Totals totals) {
  std::uint32_t r = all.right_begin;
  if (!plan.panels || all.left_end - all.left_begin < fewest_lefts) return r;
  const auto over_rows = [&](auto vectors, auto left) MIXSTREAM_FLAT {
    constexpr std::size_t most = panel_doubles / (vectors * width) / step * step;
    for (std::size_t row = 0; row < table.rows; row += most) {
      const std::size_t count = table.rows - row < most ? table.rows - row : most;
      multiply_panel<left, vectors>(plan, table, {row, count}, all.left_begin, all.left_end, r, totals);
    }
    r += vectors * width;
  };
  const auto passes = [&](std::size_t vectors) { return (table.rows * vectors * width - 1) / panel_doubles; };
  const bool narrow = passes(2) < passes(3);  // totals are closed less often
  for (;;) {  // panels of three vectors, but two of two rather than three and one
    const std::uint32_t vectors = (all.right_end - r) / width;
    if (vectors < 2) return r;
    if (narrow || vectors == 2 || vectors == 4)
      over_rows(Index<2>{}, Index<6>{});
    else
      over_rows(Index<3>{}, Index<4>{});
  }
}
#else
std::uint32_t multiply_by_panels(const Plan&, const Table&, const Rectangle& all, Totals) {
  return all.right_begin;
}
#endif

/// All totals of a rectangle.
void multiply(const Plan& plan, const Table& table, const Rectangle& all, Totals totals) {
  constexpr std::size_t cached = 20 * 1024 / sizeof(double);  // half of a usual first-level cache
  const auto fitting = static_cast<std::uint32_t>(cached / plan.stride / wide * wide);
  const std::uint32_t cached_columns = fitting < wide ? wide : fitting;
  const std::uint32_t whole = all.right_begin + (all.right_end - all.right_begin) / wide * wide;
  for (std::uint32_t r = multiply_by_panels(plan, table, all, totals); r < whole; r += cached_columns) {
    const std::uint32_t end = r + cached_columns < whole ? r + cached_columns : whole;
    multiply_cached(plan, table, {all.left_begin, all.left_end, r, end}, totals);
  }
  std::uint32_t r = whole;
  if (wide > 4 && r + 4 <= all.right_end) {
    strip<6, 4>(plan, table, all.left_begin, all.left_end, r, totals);
    r += 4;
  }
  switch (all.right_end - r) {
    case 3:
      return strip<4, 3>(plan, table, all.left_begin, all.left_end, r, totals);
    case 2:
      return strip<6, 2>(plan, table, all.left_begin, all.left_end, r, totals);
    case 1:
      return strip<8, 1>(plan, table, all.left_begin, all.left_end, r, totals);
    default:
      return;
  }
}

}  // namespace
}  // namespace mixstream::variants
