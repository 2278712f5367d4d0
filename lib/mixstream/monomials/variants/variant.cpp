// Compiled once per instruction set: MIXSTREAM_KERNEL_WIDTH lanes, entry point MIXSTREAM_KERNEL_ENTRY.
// Includes nothing with inline code of external linkage: such code could replace the baseline's own.
#include "mixstream/monomials/variants/variant.hpp"

#include "mixstream/monomials/variants/panels.hpp"

namespace mixstream::variants {
namespace {

/// Where things stand in the workspace: columns one stride apart.
struct Workspace {
  double* table;   ///< degree-3 monomials, lexicographic; its first m columns are (0, 0, k) = the variables
  double* scaled;  ///< the table times the weights; the table itself when all are 1
  double* weight;  ///< one column; null when all are 1
  double* parts;  ///< four rows of sums over the table's columns, lane by lane: of pivots 0 and 1, and in the
                  ///< second row, before those of pivot 1, of the last pivot
  double* fourth;  ///< one column: the last variable to the fourth power, times the weights
};

/// Copies a column; what a step holds beyond the rows becomes zero.
void copy_column(const double* from, double* to, std::size_t rows) {
  std::size_t row = 0;
  for (; row + width <= rows; row += width) store(to + row, load(from + row));
  for (; row < rows; ++row) to[row] = from[row];
  for (; row % step != 0; ++row) to[row] = 0.0;
}

/// w z_(m-1)^4, which times the pairs makes the products of the last pivot.
template <bool Weighted>
void raise_last_variable(const Plan& plan, const Workspace& space, const Block& block) {
  copy_column(block.values + (plan.variables - 1) * plan.stride, space.fourth, block.rows);
  for (std::size_t row = 0; row < block.rows; row += width) {
    const Lanes value = load(space.fourth + row);
    const Lanes square = value * value;
    Lanes fourth = square * square;
    if constexpr (Weighted) fourth *= load(space.weight + row);
    store(space.fourth + row, fourth);
  }
}

/// Takes over a variable, which is the column (0, 0, k) of the table, and its parts of the first and the last
/// pivot.
template <bool Weighted>
void take_variable(const Plan& plan, const Workspace& space, const Block& block, std::size_t k) {
  const std::size_t rows = (block.rows + step - 1) / step * step;
  double* const column = space.table + k * plan.stride;
  double* const scaled = space.scaled + k * plan.stride;
  const double* from = block.values + k * plan.stride;
  if (block.rows != rows) {
    copy_column(from, column, block.rows);
    from = column;
  }
  Lanes first[4] = {};  // rows is a multiple of 4 vectors
  Lanes last[4] = {};
  for (std::size_t row = 0; row < rows; row += step) {
    repeat<4>([&](auto i) MIXSTREAM_FLAT {
      const std::size_t at = row + i * width;
      const Lanes value = load(from + at);
      store(column + at, value);
      Lanes weighted = value;
      if constexpr (Weighted) {
        weighted *= load(space.weight + at);
        store(scaled + at, weighted);
      }
      first[i] += weighted;
      multiply_add(last[i], load(space.fourth + at), value);
    });
  }
  store(space.parts + k * width, (first[0] + first[1]) + (first[2] + first[3]));
  store(space.parts + (plan.columns + k) * width, (last[0] + last[1]) + (last[2] + last[3]));
}

/// Builds Count columns of the table and multiplies them, while they are at hand, with 1 and with the Lefts
/// columns given. The parts go to the rows of space.parts.
template <int Count, int Lefts, bool Weighted>
MIXSTREAM_INLINE void build_columns(const Plan& plan, const Workspace& space, std::size_t rows,
                                    const double* const* lefts, std::size_t column) {
  const double* pair[Count];
  const double* variable[Count];
  double* out[Count];
  double* scaled[Count];
  const double* left[Lefts];
  repeat<Count>([&](auto j) MIXSTREAM_FLAT {
    pair[j] = space.table + plan.factors[column + j].pair;
    variable[j] = space.table + plan.factors[column + j].variable;
    out[j] = space.table + (column + j) * plan.stride;
    scaled[j] = space.scaled + (column + j) * plan.stride;
    keep_pointer(pair[j]);
    keep_pointer(variable[j]);
    keep_pointer(out[j]);
  });
  repeat<Lefts>([&](auto i) MIXSTREAM_FLAT {
    left[i] = lefts[i];
    keep_pointer(left[i]);
  });
  const double* const weights = space.weight;
  Lanes parts[(1 + Lefts) * Count];
  repeat<(1 + Lefts) * Count>([&](auto i) MIXSTREAM_FLAT { parts[i] = Lanes{}; });
  for (std::size_t row = 0; row < rows; row += width) {
    Lanes a[Lefts];
    repeat<Lefts>([&](auto i) MIXSTREAM_FLAT { a[i] = load(left[i] + row); });
    repeat<Count>([&](auto j) MIXSTREAM_FLAT {
      const Lanes product = load(pair[j] + row) * load(variable[j] + row);
      store(out[j] + row, product);
      Lanes weighted = product;
      if constexpr (Weighted) {
        weighted *= load(weights + row);
        store(scaled[j] + row, weighted);
      }
      parts[j] += weighted;
      repeat<Lefts>([&](auto i) MIXSTREAM_FLAT { multiply_add(parts[(1 + i) * Count + j], a[i], product); });
    });
  }
  repeat<1 + Lefts>([&](auto i) MIXSTREAM_FLAT {
    repeat<Count>([&](auto j) MIXSTREAM_FLAT {
      store(space.parts + (i * plan.columns + column + j) * width, parts[i * Count + j]);
    });
  });
}

/// Columns [column, end), Count at a time, and the last few at once: one alone would wait for its own sums.
template <int Count, int Lefts, bool Weighted>
void build_range(const Plan& plan, const Workspace& space, std::size_t rows, const double* const* lefts,
                 std::size_t column, std::size_t end) {
  for (; column + Count <= end; column += Count)
    build_columns<Count, Lefts, Weighted>(plan, space, rows, lefts, column);
  repeat<Count - 1>([&](auto fewer) MIXSTREAM_FLAT {
    if (end - column == fewer + 1)
      build_columns<fewer + 1, Lefts, Weighted>(plan, space, rows, lefts, column);
  });
}

/// The table of degree-3 monomials and the parts of the first two pivots and the last.
template <bool Weighted>
void build_table(const Plan& plan, const Workspace& space, const Block& block, std::size_t rows) {
  const std::size_t m = plan.variables;
  const std::size_t first = m * (m + 1) / 2;  // the column (1, 1, 1), after all pairs (0, j, k)
  raise_last_variable<Weighted>(plan, space, block);
  for (std::size_t k = 0; k < m; ++k) take_variable<Weighted>(plan, space, block, k);
  const double* const fourth[] = {space.fourth};
  const std::size_t pairs_end = m > 1 ? first + 1 : first;  // and z_1^3, a left column of pivot 1
  build_range<4, 1, Weighted>(plan, space, rows, fourth, m, pairs_end);
  const double* left[3] = {};  // of pivot 1: z_1, z_1^2, z_1^3
  for (std::size_t i = 0; i < 3 && m > 1; ++i) left[i] = space.scaled + plan.left_offsets[1 + i];
  build_range<3, 3, Weighted>(plan, space, rows, left, first, plan.columns);
}

/// Adds `count` parts, lanes at part(0), part(1), ..., to totals that follow each other.
template <class Part>
MIXSTREAM_INLINE void add_row(const Part& part, std::size_t count, Totals totals, std::size_t start) {
  std::size_t column = 0;
  for (; column + width <= count; column += width) {
    Lanes group[width];
    repeat<width>([&](auto i) MIXSTREAM_FLAT { group[i] = load(part(column + i)); });
    add_exactly<width>(totals, start + column, sums_of(group));
  }
  for (; column < count; ++column) {
    double sum = 0.0;
    for (int i = 0; i < width; ++i) sum += part(column)[i];
    add_exactly<1>(totals, start + column, sum);
  }
}

/// The totals of the first two pivots.
void add_first_pivots(const Plan& plan, const Workspace& space, Totals totals) {
  const std::size_t first = plan.variables * (plan.variables + 1) / 2;
  const auto part = [&](std::size_t i) MIXSTREAM_FLAT { return space.parts + i * width; };
  add_row(part, plan.columns, totals, 0);
  for (std::size_t i = 1; i <= 3 && first < plan.columns; ++i) {
    const auto part_of_row = [&](std::size_t c) MIXSTREAM_FLAT { return part(i * plan.columns + first + c); };
    add_row(part_of_row, plan.columns - first, totals, plan.row_starts[i] + first);
  }
}

/// The totals of the last pivot, unless it is one of the first two.
void add_last_pivot(const Plan& plan, const Workspace& space, Totals totals) {
  const std::size_t m = plan.variables;
  if (m < 3) return;
  const double* const parts = space.parts + plan.columns * width;
  const auto part = [&](std::size_t i) MIXSTREAM_FLAT { return parts + plan.pairs[i] * width; };
  const std::size_t left = (m - 1) * m * (m + 1) / 6;
  add_row(part, m * (m + 1) / 2, totals, plan.row_starts[left] + plan.columns - 1);
}

}  // namespace

void MIXSTREAM_KERNEL_ENTRY(const Plan& plan, const Block& block, double* workspace, Totals totals) noexcept {
  const std::size_t rows = (block.rows + step - 1) / step * step;
  double* const panel = workspace + plan.columns * plan.stride;
  double* const parts = panel + panel_doubles;
  double* const fourth = parts + 4 * plan.columns * 8;
  Workspace space{workspace, workspace, nullptr, parts, fourth};
  if (block.weights == nullptr) {
    build_table<false>(plan, space, block, rows);
  } else {
    space.weight = fourth + plan.stride;
    space.scaled = space.weight + plan.stride;
    copy_column(block.weights, space.weight, block.rows);
    build_table<true>(plan, space, block, rows);
  }
  add_first_pivots(plan, space, totals);
  add_last_pivot(plan, space, totals);
  const Table table{space.scaled, space.table, rows, panel};
  for (std::size_t i = 0; i < plan.rectangle_count; ++i) multiply(plan, table, plan.rectangles[i], totals);
}

}  // namespace mixstream::variants
