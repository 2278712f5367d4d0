// Compiled once per instruction set: MIXSTREAM_KERNEL_WIDTH lanes, entry point MIXSTREAM_KERNEL_ENTRY.
// Includes nothing with inline code of external linkage: such code could replace the baseline's own.
#include "mixstream/monomials/variants/variant.hpp"

#include "mixstream/monomials/variants/tiles.hpp"

namespace mixstream::variants {
namespace {

/// Where things stand in the workspace: columns one stride apart.
struct Workspace {
  double* table;   ///< degree-3 monomials, lexicographic; its first m columns are (0, 0, k) = the variables
  double* parts;   ///< for each of them its weighted sum, lane by lane
  double* weight;  ///< one column; null when all weights are 1, and then nothing of the following
  double* scaled;  ///< the table times the weights
};

/// Copies a column; lanes beyond the rows become zero.
void copy_column(const double* from, double* to, std::size_t rows) {
  std::size_t row = 0;
  for (; row + width <= rows; row += width) store(to + row, load(from + row));
  for (; row < rows; ++row) to[row] = from[row];
  for (; row % step != 0; ++row) to[row] = 0.0;
}

/// Count columns (i, j, k), (i, j, k+1), ... from `column` on: the pair (0, i, j) times the variables; on the
/// way their weighted sums.
template <int Count, bool Weighted>
void build_columns(const Workspace& space, std::size_t stride, std::size_t rows, std::size_t pair,
                   std::size_t k, std::size_t column) {
  const double* factors = space.table + pair * stride;
  const double* variables = space.table + k * stride;
  double* out = space.table + column * stride;
  double* scaled = space.scaled + column * stride;
  Lanes parts[Count] = {};
  for (std::size_t row = 0; row < rows; row += width) {
    const Lanes factor = load(factors + row);
    for (int i = 0; i < Count; ++i) {
      Lanes product = factor * load(variables + i * stride + row);
      store(out + i * stride + row, product);
      if constexpr (Weighted) {
        product *= load(space.weight + row);
        store(scaled + i * stride + row, product);
      }
      parts[i] += product;
    }
  }
  for (int i = 0; i < Count; ++i) store(space.parts + (column + i) * width, parts[i]);
}

/// The table of degree-3 monomials and its column sums.
template <bool Weighted>
void build_table(const Workspace& space, std::size_t m, std::size_t stride, std::size_t rows) {
  std::size_t pair = 0;  // the columns (0, i, j) lead the table, in the order met here
  std::size_t column = 0;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = i; j < m; ++j, ++pair) {
      for (std::size_t k = j; k < m;) {
        const std::size_t count = m - k < 5 ? m - k : 5;
        switch (count) {
          case 1:
            build_columns<1, Weighted>(space, stride, rows, pair, k, column);
            break;
          case 2:
            build_columns<2, Weighted>(space, stride, rows, pair, k, column);
            break;
          case 3:
            build_columns<3, Weighted>(space, stride, rows, pair, k, column);
            break;
          case 4:
            build_columns<4, Weighted>(space, stride, rows, pair, k, column);
            break;
          default:
            build_columns<5, Weighted>(space, stride, rows, pair, k, column);
            break;
        }
        k += count;
        column += count;
      }
    }
  }
}

/// The totals of pivot 0, which are the table's column sums.
void add_column_sums(const double* parts, std::size_t columns, Totals totals) {
  std::size_t column = 0;
  for (; column + width <= columns; column += width) {
    Lanes group[width];
    for (int i = 0; i < width; ++i) group[i] = load(parts + (column + i) * width);
    add_exactly<width>(totals, column, sums_of(group));
  }
  for (; column < columns; ++column) {
    double sum = 0.0;
    for (int i = 0; i < width; ++i) sum += parts[column * width + i];
    add_exactly<1>(totals, column, sum);
  }
}

}  // namespace

void MIXSTREAM_KERNEL_ENTRY(const Plan& plan, const Block& block, double* workspace, Totals totals) noexcept {
  const std::size_t m = plan.variables;
  const std::size_t columns = m * (m + 1) * (m + 2) / 6;
  const std::size_t rows = (block.rows + step - 1) / step * step;
  Workspace space{workspace, workspace + columns * plan.stride, nullptr, nullptr};
  for (std::size_t k = 0; k < m; ++k) {
    copy_column(block.values + k * plan.stride, space.table + k * plan.stride, block.rows);
  }
  if (block.weights == nullptr) {
    build_table<false>(space, m, plan.stride, rows);
  } else {
    space.weight = space.parts + columns * 8;
    space.scaled = space.weight + plan.stride;
    copy_column(block.weights, space.weight, block.rows);
    build_table<true>(space, m, plan.stride, rows);
  }
  add_column_sums(space.parts, columns, totals);
  const Table table{block.weights == nullptr ? space.table : space.scaled, space.table, rows};
  for (std::size_t i = 0; i < plan.rectangle_count; ++i) multiply(plan, table, plan.rectangles[i], totals);
}

}  // namespace mixstream::variants
