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
  double* parts;   ///< four rows of sums over the table's columns, lane by lane: of pivots 0 and 1
};

/// Copies a column; what a step holds beyond the rows becomes zero.
void copy_column(const double* from, double* to, std::size_t rows) {
  std::size_t row = 0;
  for (; row + width <= rows; row += width) store(to + row, load(from + row));
  for (; row < rows; ++row) to[row] = from[row];
  for (; row % step != 0; ++row) to[row] = 0.0;
}

/// Takes over a variable, which is the column (0, 0, k) of the table, and its part of pivot 0.
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
  Lanes parts[4] = {};  // rows is a multiple of 4 vectors
  for (std::size_t row = 0; row < rows; row += step) {
    repeat<4>([&](auto i) MIXSTREAM_FLAT {
      const std::size_t at = row + i * width;
      const Lanes value = load(from + at);
      store(column + at, value);
      if constexpr (Weighted) {
        const Lanes weighted = value * load(space.weight + at);
        store(scaled + at, weighted);
        parts[i] += weighted;
      } else {
        parts[i] += value;
      }
    });
  }
  store(space.parts + k * width, (parts[0] + parts[1]) + (parts[2] + parts[3]));
}

/// Builds Count columns of the table and multiplies them, while they are at hand, with the left columns of
/// pivot 0, which is 1, and if Lefts is 3 of pivot 1: z_1, z_1^2 and z_1^3. The parts go to the rows of
/// space.parts.
template <int Count, int Lefts, bool Weighted>
MIXSTREAM_INLINE void build_columns(const Plan& plan, const Workspace& space, std::size_t rows,
                                    std::size_t column) {
  const double* pair[Count];
  const double* variable[Count];
  double* out[Count];
  double* scaled[Count];
  const double* left[Lefts + 1];
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
    left[i] = space.scaled + plan.left_offsets[1 + i];
    keep_pointer(left[i]);
  });
  const double* const weights = space.weight;
  Lanes parts[(1 + Lefts) * Count];
  repeat<(1 + Lefts) * Count>([&](auto i) MIXSTREAM_FLAT { parts[i] = Lanes{}; });
  for (std::size_t row = 0; row < rows; row += width) {
    Lanes a[Lefts + 1];
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

/// The table of degree-3 monomials and the parts of pivots 0 and 1.
template <bool Weighted>
void build_table(const Plan& plan, const Workspace& space, const Block& block, std::size_t rows) {
  const std::size_t m = plan.variables;
  const std::size_t first = m * (m + 1) / 2;  // the column (1, 1, 1), after all (0, j, k)
  for (std::size_t k = 0; k < m; ++k) take_variable<Weighted>(plan, space, block, k);
  std::size_t column = m;
  for (; column + 4 <= first; column += 4) build_columns<4, 0, Weighted>(plan, space, rows, column);
  for (; column < first; ++column) build_columns<1, 0, Weighted>(plan, space, rows, column);
  if (m > 1) build_columns<1, 0, Weighted>(plan, space, rows, first);  // z_1^3, a left column
  for (; column + 3 <= plan.columns; column += 3) build_columns<3, 3, Weighted>(plan, space, rows, column);
  for (; column < plan.columns; ++column) build_columns<1, 3, Weighted>(plan, space, rows, column);
}

/// Adds one row of parts to totals that follow each other.
void add_row(const double* parts, std::size_t count, Totals totals, std::size_t start) {
  std::size_t column = 0;
  for (; column + width <= count; column += width) {
    Lanes group[width];
    repeat<width>([&](auto i) MIXSTREAM_FLAT { group[i] = load(parts + (column + i) * width); });
    add_exactly<width>(totals, start + column, sums_of(group));
  }
  for (; column < count; ++column) {
    double sum = 0.0;
    for (int i = 0; i < width; ++i) sum += parts[column * width + i];
    add_exactly<1>(totals, start + column, sum);
  }
}

/// The totals of pivots 0 and 1.
void add_first_pivots(const Plan& plan, const Workspace& space, Totals totals) {
  const std::size_t first = plan.variables * (plan.variables + 1) / 2;
  add_row(space.parts, plan.columns, totals, 0);
  for (std::size_t i = 1; i <= 3 && first < plan.columns; ++i) {
    add_row(space.parts + (i * plan.columns + first) * width, plan.columns - first, totals,
            plan.row_starts[i] + first);
  }
}

}  // namespace

void MIXSTREAM_KERNEL_ENTRY(const Plan& plan, const Block& block, double* workspace, Totals totals) noexcept {
  const std::size_t rows = (block.rows + step - 1) / step * step;
  double* const panel = workspace + plan.columns * plan.stride;
  double* const parts = panel + panel_doubles;
  Workspace space{workspace, workspace, nullptr, parts};
  if (block.weights == nullptr) {
    build_table<false>(plan, space, block, rows);
  } else {
    space.weight = parts + 4 * plan.columns * 8;
    space.scaled = space.weight + plan.stride;
    copy_column(block.weights, space.weight, block.rows);
    build_table<true>(plan, space, block, rows);
  }
  add_first_pivots(plan, space, totals);
  const Table table{space.scaled, space.table, rows, panel};
  for (std::size_t i = 0; i < plan.rectangle_count; ++i) multiply(plan, table, plan.rectangles[i], totals);
}

}  // namespace mixstream::variants
