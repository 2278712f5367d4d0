// The sum of z^(6) over a block of rows: all distinct products of degree 6, at machine speed.
//
// The products split at the pivot a = i3 (packing.hpp): rectangle a holds every left column (degree-3
// monomials whose largest index is a) times every right column (those whose smallest index is a or more).
// Both are columns of one table, the degree-3 monomials of the block in lexicographic order; a rectangle is
// a matrix product over the rows, done in register tiles with rows across the lanes of a vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mixstream/cpu/instruction_set.hpp"
#include "mixstream/monomials/packing.hpp"
#include "mixstream/monomials/row_block.hpp"
#include "mixstream/monomials/variants/variant.hpp"

namespace mixstream {

/// Rows of a full block. Depends on m alone, so that block borders, and with them the last bits of a result,
/// do not depend on the processor.
std::size_t rows_of_a_block(int variables) noexcept;

/// The plan for m variables: built once, then const and safe to share between threads.
class BlockKernel {
 public:
  /// Throws std::invalid_argument unless 1 <= variables <= largest_variable_count and the set is supported.
  explicit BlockKernel(int variables, InstructionSet set = best_instruction_set());

  int variables() const noexcept { return packing_.variables(); }
  InstructionSet instruction_set() const noexcept { return set_; }

  std::size_t block_rows() const noexcept { return block_rows_; }
  RowBlock make_block() const { return {variables(), block_rows_}; }

  /// Doubles of scratch for accumulate: about N(m, 3) columns of a block. Allocate as AlignedDoubles.
  std::size_t workspace_size() const noexcept { return workspace_size_; }

  /// Adds w z^(6) over the block's rows to the two-term totals (sums + compensation), N(m, 6) of each in
  /// pivot order. Wants z[0] = 1 in every row. A block whose weights are all 1 pays nothing for weights.
  /// No throw, no allocation; N(m, 6) multiply-adds a row.
  void accumulate(const RowBlock& block, double* workspace, double* sums,
                  double* compensation) const noexcept;

  /// The same by a variant of the caller's choice: for tests of variants that this processor never picks.
  void accumulate_by(variants::Accumulate variant, const RowBlock& block, double* workspace, double* sums,
                     double* compensation) const noexcept;

 private:
  Packing packing_;
  InstructionSet set_;
  std::size_t block_rows_;
  std::size_t workspace_size_;
  std::vector<variants::Factors> factors_;  // these five: see variants::Plan
  std::vector<std::uint32_t> left_offsets_;
  std::vector<std::uint32_t> row_starts_;
  std::vector<std::uint32_t> pairs_;
  std::vector<variants::Rectangle> rectangles_;
  variants::Accumulate accumulate_;
};

}  // namespace mixstream
