#include "mixstream/monomials/kernel.hpp"

#include <stdexcept>

namespace mixstream {
namespace {

variants::Accumulate variant_for(InstructionSet set) {
  if (!supported(set)) throw std::invalid_argument("this processor does not run that instruction set");
  switch (set) {
#if defined(__x86_64__)
    case InstructionSet::avx512:
      return variants::accumulate_avx512;
    case InstructionSet::avx2:
      return variants::accumulate_avx2;
    case InstructionSet::sse2:
      return variants::accumulate_sse2;
#endif
    default:
      return variants::accumulate_plain;
  }
}

/// Below, turning columns into rows costs more than it saves. Measured.
constexpr int fewest_variables_of_panels = 12;

/// The monomial columns, a panel, for each column four sums of up to eight lanes, a fourth power, and with
/// weights the columns once more (variants/variant.cpp).
std::size_t workspace_doubles(const Packing& packing, std::size_t stride) {
  const std::size_t columns = packing.right_count(0);  // N(m, 3)
  return (2 * columns + 2) * stride + std::size_t{32} * columns + variants::panel_doubles;
}

/// The table in lexicographic order: (i, j, k) = (0, i, j) times (0, 0, k). The pairs (0, i, j) lead the
/// table, in the order in which they are met.
std::vector<variants::Factors> factors_of(int variables, std::size_t stride) {
  std::vector<variants::Factors> factors;
  std::size_t pair = 0;
  for (int i = 0; i < variables; ++i) {
    for (int j = i; j < variables; ++j, ++pair) {
      for (int k = j; k < variables; ++k) {
        factors.push_back({static_cast<std::uint32_t>(pair * stride),
                           static_cast<std::uint32_t>(static_cast<std::size_t>(k) * stride)});
      }
    }
  }
  return factors;
}

/// Cuts the products, left (i, j, a) times right (b, k, l) for all 2 <= a <= b and a < m - 1, into
/// rectangles. Neighbouring pivots share their right columns as long as their left columns stay in the
/// second-level cache: of pivots first to last, one rectangle of all of them for b >= last, and one for each
/// b before.
std::vector<variants::Rectangle> rectangles_of(const Packing& packing) {
  const int m = packing.variables();
  const std::uint32_t most_lefts = m < fewest_variables_of_panels ? 0 : (m < 20 ? 120 : 250);
  const auto lefts_before = [](int pivot) {  // left columns of smaller pivots, N(pivot, 3)
    return static_cast<std::uint32_t>(pivot * (pivot + 1) * (pivot + 2) / 6);
  };
  const auto columns = static_cast<std::uint32_t>(packing.right_count(0));
  const auto right_from = [&](int b) {
    return b < m ? columns - static_cast<std::uint32_t>(packing.right_count(b)) : columns;
  };
  std::vector<variants::Rectangle> rectangles;
  for (int first = 2; first < m - 1;) {
    int last = first;
    while (last + 1 < m - 1 && lefts_before(last + 2) - lefts_before(first) <= most_lefts) ++last;
    for (int b = first; b < last; ++b)
      rectangles.push_back({lefts_before(first), lefts_before(b + 1), right_from(b), right_from(b + 1)});
    rectangles.push_back({lefts_before(first), lefts_before(last + 1), right_from(last), columns});
    first = last + 1;
  }
  return rectangles;
}

}  // namespace

// Long blocks spread the cost of closing a tile; short ones fit the cache and bound the longest append.
// Measured; the lengths are multiples of 64. Never more than largest_block_rows.
std::size_t rows_of_a_block(int variables) noexcept {
  if (variables == 4) return 128;
  if (variables >= 20) return 384;  // so many totals that it takes long to bring them from the memory
  return variables >= 11 ? 192 : 256;
}

BlockKernel::BlockKernel(int variables, InstructionSet set)
    : packing_(variables),
      set_(set),
      block_rows_(rows_of_a_block(variables)),
      workspace_size_(workspace_doubles(packing_, column_stride(block_rows_))),
      factors_(factors_of(variables, column_stride(block_rows_))),
      rectangles_(rectangles_of(packing_)),
      accumulate_(variant_for(set)) {
  const std::size_t stride = column_stride(block_rows_);
  for (int pivot = 0; pivot < variables; ++pivot) {
    std::size_t row_start = packing_.offset(pivot) - packing_.right_rank(0, pivot, pivot, pivot);
    for (int j = 0; j <= pivot; ++j) {
      for (int i = 0; i <= j; ++i) {
        left_offsets_.push_back(static_cast<std::uint32_t>(packing_.right_rank(0, i, j, pivot) * stride));
        row_starts_.push_back(static_cast<std::uint32_t>(row_start));
        row_start += packing_.right_count(pivot);
        if (pivot + 1 == variables)
          pairs_.push_back(static_cast<std::uint32_t>(packing_.right_rank(0, 0, i, j)));
      }
    }
  }
}

void BlockKernel::accumulate(const RowBlock& block, double* workspace, double* sums,
                             double* compensation) const noexcept {
  accumulate_by(accumulate_, block, workspace, sums, compensation);
}

void BlockKernel::accumulate_by(variants::Accumulate variant, const RowBlock& block, double* workspace,
                                double* sums, double* compensation) const noexcept {
  if (block.rows() == 0) return;
  const variants::Plan plan{.variables = static_cast<std::size_t>(variables()),
                            .stride = column_stride(block_rows_),
                            .factors = factors_.data(),
                            .columns = factors_.size(),
                            .left_offsets = left_offsets_.data(),
                            .row_starts = row_starts_.data(),
                            .pairs = pairs_.data(),
                            .rectangles = rectangles_.data(),
                            .rectangle_count = rectangles_.size(),
                            .panels = variables() >= fewest_variables_of_panels};
  variant(plan, {block.rows(), block.values(), block.weighted() ? block.weights() : nullptr}, workspace,
          {sums, compensation});
}

}  // namespace mixstream
