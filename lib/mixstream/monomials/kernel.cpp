#include "mixstream/monomials/kernel.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace mixstream {
namespace {

variants::Accumulate variant_for(InstructionSet set) {
  if (!supported(set))
    throw std::invalid_argument("this processor does not run the instruction set asked for");
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

/// Long blocks spread the cost of closing a tile; short ones fit the cache and bound the longest append.
std::size_t rows_of_a_block(int variables) {
  if (const char* e = getenv("BR")) return std::atoi(e);
  return variables < 12 ? 64 : 128;
}

std::uint32_t narrow(std::size_t value) {
  return static_cast<std::uint32_t>(value);
}

/// Left columns of the pivots before this one, N(pivot, 3).
std::uint32_t lefts_before(int pivot) {
  return narrow(static_cast<std::size_t>(pivot) * static_cast<std::size_t>(pivot + 1) *
                static_cast<std::size_t>(pivot + 2) / 6);
}

/// What the variants lay out in their workspace: pairs, left columns, two single columns, right columns in
/// groups of up to eight.
std::size_t workspace_doubles(const Packing& packing, std::size_t stride) {
  const int m = packing.variables();
  const std::size_t rights = lefts_before(m - 1);  // N(m - 1, 3), as many as lefts
  return (packing.left_count(m - 1) + 2 * rights + 2 + 8) * stride;
}

/// Cuts the products, left (i, j, a) times right (b, k, l) for all 1 <= a <= b, a < m - 1, into rectangles.
/// Pivots from `shallow` on are one each. Those before have few left columns, so they share their right
/// columns: one rectangle of all of them for b >= shallow - 1, one for each b before.
std::vector<variants::Rectangle> rectangles_of(const Packing& packing) {
  const int m = packing.variables();
  const int shallow = std::min(getenv("SH") ? std::atoi(getenv("SH")) : m < 12 ? 2 : 6, std::max(m - 1, 2));
  const std::uint32_t lefts = lefts_before(m - 1);
  const std::uint32_t columns = lefts;  // N(m - 1, 3) of each
  const auto right_from = [&](int b) { return columns - narrow(packing.right_count(b)); };
  std::vector<variants::Rectangle> rectangles;
  for (int b = 1; m > 1 && b < std::max(m - 1, 2); ++b) {
    const std::uint32_t end = std::min(lefts_before(b + 1), lefts);
    if (b < shallow - 1) {
      rectangles.push_back({0, end, right_from(b), right_from(b + 1)});
    } else {
      rectangles.push_back({b < shallow ? 0 : lefts_before(b), end, right_from(b), columns});
    }
  }
  return rectangles;
}

}  // namespace

BlockKernel::BlockKernel(int variables, InstructionSet set)
    : packing_(variables),
      set_(set),
      block_rows_(rows_of_a_block(variables)),
      workspace_size_(workspace_doubles(packing_, column_stride(block_rows_))),
      rectangles_(rectangles_of(packing_)),
      accumulate_(variant_for(set)) {
  const std::size_t stride = column_stride(block_rows_);
  const auto column = [&](int j, int k) { return narrow(packing_.right_rank(0, 0, j, k) * stride); };
  for (int i = 0; i < variables; ++i) {
    for (int j = i; j < variables; ++j) {
      pairs_.push_back({column(0, i), column(0, j)});
      for (int k = j; i > 0 && k < variables; ++k) rights_.push_back({column(i, j), column(0, k)});
    }
  }
  for (int pivot = 0; pivot < variables; ++pivot) {
    std::size_t row_start =
        packing_.offset(pivot) - packing_.right_rank(0, pivot, pivot, pivot) + pairs_.size();
    for (int j = 0; j <= pivot; ++j) {
      for (int i = 0; i <= j; ++i, row_start += packing_.right_count(pivot)) {
        if (pivot == variables - 1) {
          last_pairs_.push_back(column(i, j));
        } else {
          const std::uint32_t place =
              i == 0 ? column(j, pivot) : narrow((pairs_.size() + lefts_.size()) * stride);
          lefts_.push_back({{column(i, j), column(0, pivot)}, place, narrow(row_start)});
        }
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
                            .pair_count = pairs_.size(),
                            .pairs = pairs_.data(),
                            .right_count = rights_.size(),
                            .rights = rights_.data(),
                            .left_count = lefts_.size(),
                            .lefts = lefts_.data(),
                            .rectangle_count = rectangles_.size(),
                            .rectangles = rectangles_.data(),
                            .last_pairs = last_pairs_.data(),
                            .last_start = packing_.offset(variables() - 1)};
  variant(plan, {block.rows(), block.values(), block.weighted() ? block.weights() : nullptr}, workspace,
          {sums, compensation});
}

}  // namespace mixstream
