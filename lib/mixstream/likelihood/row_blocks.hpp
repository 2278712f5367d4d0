// Stored rows as EM reads them: blocks of 64 rows, column by column, so that vectors run over rows.
#pragma once

#include <cstddef>
#include <vector>

#include "mixstream/likelihood/variants/em_variant.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

/// A copy of a table's rows in blocks. Rows that are not finite, or whose weight is not positive, count as
/// rows of weight zero. Const after construction, safe to share between threads.
class RowBlocks {
 public:
  /// Allocates n (d + 2) numbers.
  explicit RowBlocks(const RowTable& rows);

  std::size_t feature_count() const noexcept { return feature_count_; }
  std::size_t block_count() const noexcept { return block_count_; }
  double total_weight() const noexcept { return total_weight_; }            ///< sum w
  double response_variance() const noexcept { return response_variance_; }  ///< weighted Var(y)

  /// d columns of x, then y, then w.
  const double* block(std::size_t index) const noexcept { return lines_[index * lines_per_block_].values; }

 private:
  struct alignas(64) CacheLine {
    double values[8];
  };
  std::size_t feature_count_;
  std::size_t block_count_;
  std::size_t lines_per_block_;
  std::vector<CacheLine> lines_;
  double total_weight_ = 0.0;
  double response_variance_ = 0.0;
};

/// Copies up to 64 rows, from `first` on, into a block of (d + 2) * 64 numbers. No throw, no allocation.
void fill_block(const RowTable& rows, std::size_t first, double* block) noexcept;

}  // namespace mixstream
