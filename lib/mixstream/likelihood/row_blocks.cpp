#include "mixstream/likelihood/row_blocks.hpp"
#include "mixstream/core/yield_point.hpp"

#include <algorithm>
#include <cmath>

namespace mixstream {
namespace {

constexpr std::size_t block_rows = variants::em_block_rows;

bool usable(const Row& row) noexcept {
  return row.weight > 0.0 && std::isfinite(row.weight) && std::isfinite(row.response) &&
         std::ranges::all_of(row.features, [](double value) { return std::isfinite(value); });
}

}  // namespace

void fill_block(const RowTable& rows, std::size_t first, double* block) noexcept {
  const std::size_t d = rows.feature_count;
  std::fill_n(block, (d + 2) * block_rows, 0.0);
  const std::size_t count = std::min(block_rows, rows.size() - first);
  for (std::size_t i = 0; i < count; ++i) {
    const Row row = rows.row(first + i);
    if (!usable(row)) continue;
    for (std::size_t j = 0; j < d; ++j) block[j * block_rows + i] = row.features[j];
    block[d * block_rows + i] = row.response;
    block[(d + 1) * block_rows + i] = row.weight;
  }
}

RowBlocks::RowBlocks(const RowTable& rows)
    : feature_count_(rows.feature_count),
      block_count_((rows.size() + block_rows - 1) / block_rows),
      lines_per_block_((rows.feature_count + 2) * block_rows / 8),
      lines_(block_count_ * lines_per_block_) {
  double mean = 0.0;
  double squares = 0.0;
  for (std::size_t b = 0; b < block_count_; ++b) {
    if (b % 16 == 0) yield_point();
    double* block = lines_[b * lines_per_block_].values;
    fill_block(rows, b * block_rows, block);
    const double* responses = block + feature_count_ * block_rows;
    const double* weights = responses + block_rows;
    for (std::size_t i = 0; i < block_rows; ++i) {
      if (weights[i] == 0.0) continue;
      total_weight_ += weights[i];
      const double step = responses[i] - mean;
      mean += step * (weights[i] / total_weight_);
      squares += weights[i] * step * (responses[i] - mean);
    }
  }
  if (total_weight_ > 0.0) response_variance_ = squares / total_weight_;
}

}  // namespace mixstream
