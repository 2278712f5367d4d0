// Compiled once per instruction set: MIXSTREAM_KERNEL_WIDTH lanes, entry point MIXSTREAM_KERNEL_ENTRY.
// Includes nothing with inline code of external linkage: such code could replace the baseline's own.
#include "mixstream/monomials/variants/variant.hpp"

#include "mixstream/monomials/variants/tiles.hpp"

namespace mixstream::variants {
namespace {

/// Where things stand in the workspace: N(m, 3) monomial columns, then what weights need.
struct Workspace {
  double* table;   ///< degree-3 monomials, lexicographic; its first m columns are (0, 0, k) = the variables
  double* weight;  ///< null when all weights are 1
  double* scaled;  ///< w z_a, then N(m, 2) columns z_i z_j w z_a
};

bool all_one(const double* weights, std::size_t rows) {
  bool different = false;
  for (std::size_t row = 0; row < rows; ++row) different |= weights[row] != 1.0;
  return !different;
}

/// Copies a column; lanes beyond the rows become zero.
void copy_column(const double* from, double* to, std::size_t rows) {
  std::size_t row = 0;
  for (; row + width <= rows; row += width) store(to + row, load(from + row));
  for (; row < rows; ++row) to[row] = from[row];
  for (; row % width != 0; ++row) to[row] = 0.0;
}

/// Columns (i, j, k), (i, j, k+1), ... = column (0, i, j) times the variables; on the way their weighted
/// sums, which are the totals of pivot 0.
template <int Count>
void build_columns(const double* pair, const double* variables, double* out, const double* weight,
                   std::size_t stride, std::size_t rows, Totals totals) {
  Lanes parts[Count] = {};
  for (std::size_t row = 0; row < rows; row += width) {
    const Lanes factor = load(pair + row);
    for (int i = 0; i < Count; ++i) {
      const Lanes product = factor * load(variables + i * stride + row);
      store(out + i * stride + row, product);
      parts[i] = weight == nullptr ? parts[i] + product : multiply_add(load(weight + row), product, parts[i]);
    }
  }
  add_parts<1, Count>(parts, totals, Count);
}

/// The table of degree-3 monomials and the totals of pivot 0, which are the table's column sums.
void build_table(const Input& input, const Workspace& space, std::size_t rows, Totals totals) {
  const std::size_t m = input.variables;
  for (std::size_t k = 0; k < m; ++k) {
    copy_column(input.values + k * input.stride, space.table + k * input.stride, input.rows);
  }
  std::size_t column = 0;
  std::size_t pair = 0;  // the column (0, i, j): these lead the table, in the order met here
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = i; j < m; ++j, ++pair) {
      const double* factor = space.table + pair * input.stride;
      for (std::size_t k = j; k < m;) {
        const auto build = [&]<int Count>() {
          build_columns<Count>(factor, space.table + k * input.stride, space.table + column * input.stride,
                               space.weight, input.stride, rows,
                               {totals.sums + column, totals.compensation + column});
          k += Count;
          column += Count;
        };
        if (k + 4 <= m) {
          build.template operator()<4>();
        } else if (k + 2 <= m) {
          build.template operator()<2>();
        } else {
          build.template operator()<1>();
        }
      }
    }
  }
}

/// Left columns of one pivot times the weights, z_i z_j (w z_a), in left-rank order.
void build_scaled_left(const Input& input, const Workspace& space, std::size_t pivot, std::size_t rows) {
  const std::size_t m = input.variables;
  double* scaled_pivot = space.scaled;
  const double* variable = space.table + pivot * input.stride;
  for (std::size_t row = 0; row < rows; row += width) {
    store(scaled_pivot + row, load(variable + row) * load(space.weight + row));
  }
  double* out = scaled_pivot + input.stride;
  for (std::size_t j = 0; j <= pivot; ++j) {
    for (std::size_t i = 0; i <= j; ++i, out += input.stride) {
      const double* pair = space.table + (i * m - i * (i + 1) / 2 + j) * input.stride;  // (0, i, j)
      for (std::size_t row = 0; row < rows; row += width) {
        store(out + row, load(pair + row) * load(scaled_pivot + row));
      }
    }
  }
}

constexpr std::size_t pairs(std::size_t n) {
  return n * (n + 1) / 2;
}
constexpr std::size_t triples(std::size_t n) {
  return n * (n + 1) * (n + 2) / 6;
}

}  // namespace

void MIXSTREAM_KERNEL_ENTRY(const Input& input, double* workspace, Totals totals) noexcept {
  const std::size_t m = input.variables;
  const std::size_t rows = (input.rows + width - 1) / width * width;
  Workspace space{workspace, nullptr, workspace + (triples(m) + 1) * input.stride};
  if (!all_one(input.weights, input.rows)) {
    space.weight = workspace + triples(m) * input.stride;
    copy_column(input.weights, space.weight, input.rows);
  }
  build_table(input, space, rows, totals);
  const std::uint32_t* left = input.left_columns + 1;
  std::size_t offset = triples(m);
  for (std::size_t pivot = 1; pivot < m; ++pivot) {
    const std::size_t left_count = pairs(pivot + 1);
    const std::size_t right_count = triples(m - pivot);
    Rectangle rectangle{
        space.table, left,         left_count, space.table + (triples(m) - right_count) * input.stride,
        right_count, input.stride, rows,       {totals.sums + offset, totals.compensation + offset},
        right_count};
    if (space.weight != nullptr) {
      build_scaled_left(input, space, pivot, rows);
      rectangle.left_table = space.scaled + input.stride;
      rectangle.left = input.consecutive;
    }
    multiply(rectangle);
    left += left_count;
    offset += left_count * right_count;
  }
}

}  // namespace mixstream::variants
