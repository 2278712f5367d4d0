// Compiled once per instruction set: MIXSTREAM_KERNEL_WIDTH lanes, entry point MIXSTREAM_KERNEL_ENTRY.
// Includes nothing with inline code of external linkage: such code could replace the baseline's own.
#include "mixstream/monomials/variants/variant.hpp"

#include "mixstream/monomials/variants/tiles.hpp"

namespace mixstream::variants {
namespace {

constexpr std::size_t chunk = 8;  ///< blocks are filled up with zeros to a multiple of it

/// Copies a column; what a chunk holds beyond the rows becomes zero.
void copy_column(const double* from, double* to, std::size_t rows) {
  std::size_t row = 0;
  for (; row < rows; ++row) to[row] = from[row];
  for (; row % chunk != 0; ++row) to[row] = 0.0;
}

/// Adds lanes [from, to) to totals; lane `from` belongs at `position`.
MIXSTREAM_INLINE void add_sums(Totals totals, std::size_t position, Lanes sums, std::size_t from,
                               std::size_t to) {
  if (to - from == width) return add_exactly(totals, position, sums);
  alignas(64) double values[width];
  store(values, sums);
  add_exactly(totals, position, values + from, to - from);
}

/// Builds Count columns of pairs from `column` on, and adds their sums to the totals of pivot 0.
template <int Count, bool Weighted>
void build_pairs(const Plan& plan, double* pairs, const double* weight, std::size_t rows, std::size_t column,
                 Totals totals) {
  const double* a[Count];
  const double* b[Count];
  double* out[Count];
  for (int i = 0; i < Count; ++i) {
    a[i] = pairs + plan.pairs[column + i].pair;
    b[i] = pairs + plan.pairs[column + i].variable;
    out[i] = pairs + (column + i) * plan.stride;
    keep_pointer(a[i]);
    keep_pointer(b[i]);
    keep_pointer(out[i]);
  }
  Lanes parts[width] = {};
  for (std::size_t row = 0; row < rows; row += width) {
    for (int i = 0; i < Count; ++i) {
      const Lanes product = load(a[i] + row) * load(b[i] + row);
      store(out[i] + row, product);
      parts[i] += Weighted ? product * load(weight + row) : product;
    }
  }
  add_sums(totals, column, sums_of(parts), 0, Count);
}

template <bool Weighted>
void build_all_pairs(const Plan& plan, double* pairs, const double* weight, std::size_t rows, Totals totals) {
  std::size_t column = 0;
  for (; column + width <= plan.pair_count; column += width) {
    build_pairs<width, Weighted>(plan, pairs, weight, rows, column, totals);
  }
  for (; column < plan.pair_count; ++column)
    build_pairs<1, Weighted>(plan, pairs, weight, rows, column, totals);
}

/// Builds one group of right columns, and adds their sums to the totals of pivot 0.
template <bool Weighted>
void build_group(const Table& table, double* out, const double* weight, std::size_t group) {
  const double* pair[width];
  const double* variable[width];
  for (int i = 0; i < width; ++i) {
    const std::size_t place = group * width + i;
    const Factors& factors = table.plan.rights[place < table.shift ? 0 : place - table.shift];
    pair[i] = table.workspace + factors.pair;
    variable[i] = table.workspace + factors.variable;
    keep_pointer(pair[i]);
    keep_pointer(variable[i]);
  }
  const std::size_t rows = table.rows;
  Lanes sums[width] = {};
  for (std::size_t row = 0; row < rows; row += width) {
    Lanes products[width];
    for (int i = 0; i < width; ++i) products[i] = load(pair[i] + row) * load(variable[i] + row);
    transpose(products);
    for (int i = 0; i < width; ++i) {
      store(out + (row + i) * width, products[i]);
      if constexpr (Weighted) {
        multiply_add(sums[i], broadcast(weight + row + i), products[i]);
      } else {
        sums[i] += products[i];
      }
    }
  }
  Lanes sum = sums[0];
  for (int i = 1; i < width; ++i) sum += sums[i];
  const std::size_t from = group == 0 ? table.shift : 0;
  add_sums(table.totals, table.plan.pair_count + group * width + from - table.shift, sum, from, width);
}

/// Left columns that are not among the pairs; with weights all of them, (0, i, j) z_a w.
void build_lefts(const Plan& plan, double* workspace, double* scaled, const double* weight,
                 std::size_t rows) {
  for (std::size_t l = 1; l < plan.left_count; ++l) {
    const Left& left = plan.lefts[l];
    if (weight == nullptr && left.place < plan.pair_count * plan.stride) continue;
    const double* pair = workspace + left.factors.pair;
    const double* variable = workspace + left.factors.variable;
    double* out = weight == nullptr ? workspace + left.place : scaled + l * plan.stride;
    for (std::size_t row = 0; row < rows; row += width) {
      Lanes product = load(pair + row) * load(variable + row);
      if (weight != nullptr) product *= load(weight + row);
      store(out + row, product);
    }
  }
}

/// The last pivot's totals of Count pairs: sums of z_i z_j times fourth, which is w z_a^4.
template <int Count>
void multiply_pairs(const Plan& plan, const double* pairs, const double* fourth, std::size_t rows,
                    std::size_t first, Totals totals) {
  constexpr int vectors = (Count + width - 1) / width;
  const double* pair[Count];
  for (int i = 0; i < Count; ++i) {
    pair[i] = pairs + plan.last_pairs[first + i];
    keep_pointer(pair[i]);
  }
  Lanes parts[vectors * width] = {};
  for (std::size_t row = 0; row < rows; row += width) {
    const Lanes factor = load(fourth + row);
    for (int i = 0; i < Count; ++i) multiply_add(parts[i], load(pair[i] + row), factor);
  }
  for (int i = 0; i < vectors; ++i) {
    const int count = Count - i * width < width ? Count - i * width : width;
    const std::size_t position = plan.last_start + first + i * width;
    add_sums(totals, position, sums_of(parts + i * width), 0, count);
  }
}

/// All totals of the last pivot a: one right column, z_a^3, so the pairs do for left columns.
void multiply_last_pivot(const Plan& plan, const double* pairs, double* fourth, const double* weight,
                         std::size_t rows, Totals totals) {
  const double* variable = pairs + (plan.variables - 1) * plan.stride;
  for (std::size_t row = 0; row < rows; row += width) {
    const Lanes square = load(variable + row) * load(variable + row);
    store(fourth + row, weight == nullptr ? square * square : square * square * load(weight + row));
  }
  std::size_t first = 0;
  for (; first + 8 <= plan.pair_count; first += 8)
    multiply_pairs<8>(plan, pairs, fourth, rows, first, totals);
  for (; first + 4 <= plan.pair_count; first += 4)
    multiply_pairs<4>(plan, pairs, fourth, rows, first, totals);
  for (; first < plan.pair_count; ++first) multiply_pairs<1>(plan, pairs, fourth, rows, first, totals);
}

}  // namespace

void MIXSTREAM_KERNEL_ENTRY(const Plan& plan, const Block& block, double* workspace, Totals totals) noexcept {
  const std::size_t rows = (block.rows + chunk - 1) / chunk * chunk;
  const std::size_t capacity = plan.stride - 8;
  double* const lefts = workspace + plan.pair_count * plan.stride;  // the pairs come first
  double* const fourth = lefts + plan.left_count * plan.stride;
  double* const weight = block.weights == nullptr ? nullptr : fourth + plan.stride;
  double* const right = fourth + 2 * plan.stride;
  for (std::size_t k = 0; k < plan.variables; ++k) {
    copy_column(block.values + k * plan.stride, workspace + k * plan.stride, block.rows);
  }
  if (weight != nullptr) copy_column(block.weights, weight, block.rows);
  weight == nullptr ? build_all_pairs<false>(plan, workspace, weight, rows, totals)
                    : build_all_pairs<true>(plan, workspace, weight, rows, totals);
  if (plan.variables == 1) return;

  const std::size_t groups = (plan.right_count + width - 1) / width;
  const Table table{plan,
                    workspace,
                    weight == nullptr ? nullptr : lefts,
                    right,
                    capacity * width + 8,
                    groups * width - plan.right_count,
                    rows,
                    totals};
  for (std::size_t group = 0; group < groups; ++group) {
    double* const out = right + group * table.group_stride;
    weight == nullptr ? build_group<false>(table, out, weight, group)
                      : build_group<true>(table, out, weight, group);
  }
  build_lefts(plan, workspace, lefts, weight, rows);
  for (std::size_t i = 0; i < plan.rectangle_count; ++i) multiply(table, plan.rectangles[i]);
  multiply_last_pivot(plan, workspace, fourth, weight, rows, totals);
}

}  // namespace mixstream::variants
