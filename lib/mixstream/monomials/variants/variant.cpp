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

/// The pairs (0, j, k), j >= 1, after the variables.
void build_pairs(const Plan& plan, double* pairs, std::size_t rows) {
  for (std::size_t column = plan.variables; column < plan.pair_count; ++column) {
    const double* a = pairs + plan.pairs[column].pair;
    const double* b = pairs + plan.pairs[column].variable;
    double* out = pairs + column * plan.stride;
    for (std::size_t row = 0; row < rows; row += width) store(out + row, load(a + row) * load(b + row));
  }
}

/// One group of right columns.
void build_group(const Table& table, double* out, std::size_t group) {
  const double* pair[width];
  const double* variable[width];
  repeat<width>([&](auto i) MIXSTREAM_FLAT {
    const std::size_t place = group * width + i;
    const Factors& factors = table.plan.rights[place < table.shift ? 0 : place - table.shift];
    pair[i] = table.workspace + factors.pair;
    variable[i] = table.workspace + factors.variable;
    keep_pointer(pair[i]);
    keep_pointer(variable[i]);
  });
  const std::size_t rows = table.rows;
  for (std::size_t row = 0; row < rows; row += width) {
    Lanes products[width];
    repeat<width>([&](auto i)
                      MIXSTREAM_FLAT { products[i] = load(pair[i] + row) * load(variable[i] + row); });
    transpose(products);
    repeat<width>([&](auto i) MIXSTREAM_FLAT { store(out + (row + i) * width, products[i]); });
  }
}

/// Left columns that are not among the pairs; with weights all of them, (0, i, j) z_a w.
void build_lefts(const Plan& plan, double* workspace, double* scaled, const double* weight,
                 std::size_t rows) {
  for (std::size_t l = 0; l < plan.left_count; ++l) {
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

/// Count columns times one factor, to totals that follow each other from `position` on.
template <int Count>
void multiply_columns(const double* const* columns, const double* factors, std::size_t rows, Totals totals,
                      std::size_t position) {
  constexpr int vectors = (Count + width - 1) / width;
  const double* column[Count];
  repeat<Count>([&](auto i) MIXSTREAM_FLAT {
    column[i] = columns[i];
    keep_pointer(column[i]);
  });
  Lanes parts[vectors * width];
  repeat<vectors * width>([&](auto i) MIXSTREAM_FLAT { parts[i] = Lanes{}; });
  for (std::size_t row = 0; row < rows; row += width) {
    const Lanes factor = load(factors + row);
    repeat<Count>([&](auto i) MIXSTREAM_FLAT { multiply_add(parts[i], load(column[i] + row), factor); });
  }
  alignas(64) double values[vectors * width];
  repeat<vectors>([&](auto i) MIXSTREAM_FLAT { store(values + i * width, sums_of(parts + i * width)); });
  int done = 0;
  for (; done + width <= Count; done += width) add_exactly(totals, position + done, load(values + done));
  add_exactly(totals, position + done, values + done, Count - done);
}

/// The same for up to `Count` columns.
template <int Count>
void multiply_rest(std::size_t count, const double* const* columns, const double* factors, std::size_t rows,
                   Totals totals, std::size_t position) {
  if constexpr (Count > 0) {
    if (count == Count) return multiply_columns<Count>(columns, factors, rows, totals, position);
    multiply_rest<Count - 1>(count, columns, factors, rows, totals, position);
  }
}

/// All pairs, from `places`, times one factor.
void multiply_pairs(const Plan& plan, const double* pairs, const std::uint32_t* places, const double* factors,
                    std::size_t rows, Totals totals, std::size_t position) {
  for (std::size_t first = 0; first < plan.pair_count; first += 8) {
    const std::size_t count = plan.pair_count - first < 8 ? plan.pair_count - first : 8;
    const double* columns[8];
    for (std::size_t i = 0; i < count; ++i) {
      columns[i] = pairs + (places == nullptr ? (first + i) * plan.stride : places[first + i]);
    }
    multiply_rest<8>(count, columns, factors, rows, totals, position + first);
  }
}

/// w z_a^4 for the last pivot a.
void build_fourth(const double* variable, const double* weight, double* out, std::size_t rows) {
  for (std::size_t row = 0; row < rows; row += width) {
    const Lanes square = load(variable + row) * load(variable + row);
    store(out + row, weight == nullptr ? square * square : square * square * load(weight + row));
  }
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
  build_pairs(plan, workspace, rows);
  multiply_pairs(plan, workspace, nullptr, weight == nullptr ? workspace : weight, rows, totals, 0);
  if (plan.variables == 1) return;
  build_fourth(workspace + (plan.variables - 1) * plan.stride, weight, fourth, rows);
  multiply_pairs(plan, workspace, plan.last_pairs, fourth, rows, totals, plan.last_start);

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
    build_group(table, right + group * table.group_stride, group);
  }
  build_lefts(plan, workspace, lefts, weight, rows);
  for (std::size_t i = 0; i < plan.rectangle_count; ++i) multiply(table, plan.rectangles[i]);
}

}  // namespace mixstream::variants
