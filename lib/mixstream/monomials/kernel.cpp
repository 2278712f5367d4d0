#include "mixstream/monomials/kernel.hpp"

#include <numeric>
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
  return variables < 12 ? 64 : 128;
}

}  // namespace

BlockKernel::BlockKernel(int variables, InstructionSet set)
    : packing_(variables),
      set_(set),
      block_rows_(rows_of_a_block(variables)),
      workspace_columns_(packing_.right_count(0) + packing_.left_count(variables - 1) + 2),
      consecutive_(packing_.left_count(variables - 1)),
      accumulate_(variant_for(set)) {
  std::iota(consecutive_.begin(), consecutive_.end(), 0U);
  for (int pivot = 0; pivot < variables; ++pivot) {
    for (int j = 0; j <= pivot; ++j) {
      for (int i = 0; i <= j; ++i) {
        left_columns_.push_back(static_cast<std::uint32_t>(packing_.right_rank(0, i, j, pivot)));
      }
    }
  }
}

variants::Input BlockKernel::input_of(const RowBlock& block) const noexcept {
  return {static_cast<std::size_t>(variables()),
          block.rows(),
          column_stride(block_rows_),
          block.values(),
          block.weights(),
          left_columns_.data(),
          consecutive_.data()};
}

void BlockKernel::accumulate(const RowBlock& block, double* workspace, double* sums,
                             double* compensation) const noexcept {
  if (block.rows() > 0) accumulate_(input_of(block), workspace, {sums, compensation});
}

}  // namespace mixstream
