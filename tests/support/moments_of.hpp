// The moment tensor of stored rows, for tests and studies of what comes after it.
#pragma once

#include <vector>

#include "mixstream/moments/tensor.hpp"
#include "mixstream/monomials/kernel.hpp"
#include "mixstream/rows/pilot.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

/// Adds raw rows to tensors of the same layout and pilot.
class TensorBuilder {
 public:
  TensorBuilder(Layout layout, Pilot pilot)
      : tensor_(layout, std::move(pilot)),
        kernel_(layout.variables()),
        block_(kernel_.make_block()),
        workspace_(kernel_.workspace_size()),
        compensation_(tensor_.sums().size()),
        variables_(static_cast<std::size_t>(layout.variables())) {}

  void add(const Row& row) {
    to_pilot(row, tensor_.layout(), tensor_.pilot(), variables_);
    block_.append(variables_.data(), row.weight);
    weight_ += row.weight;
    squared_weight_ += row.weight * row.weight;
    ++tensor_.row_count;
    if (block_.full()) flush();
  }

  MomentTensor finished() {
    flush();
    MomentTensor result = tensor_;
    for (std::size_t i = 0; i < compensation_.size(); ++i) result.sums()[i] += compensation_[i];
    result.effective_rows = squared_weight_ > 0.0 ? weight_ * weight_ / squared_weight_ : 0.0;
    return result;
  }

 private:
  void flush() {
    kernel_.accumulate(block_, workspace_.data(), tensor_.sums().data(), compensation_.data());
    block_.clear();
  }

  MomentTensor tensor_;
  BlockKernel kernel_;
  RowBlock block_;
  AlignedDoubles workspace_;
  std::vector<double> compensation_;
  std::vector<double> variables_;
  double weight_ = 0.0;
  double squared_weight_ = 0.0;
};

inline MomentTensor moments_of(const RowTable& rows, Layout layout, const Pilot& pilot) {
  TensorBuilder builder(layout, pilot);
  for (std::size_t i = 0; i < rows.size(); ++i) builder.add(rows.row(i));
  return builder.finished();
}

/// Every stride-th row, starting with the first: a sample of at most about `wanted` rows.
inline RowTable thinned(const RowTable& rows, std::size_t wanted) {
  RowTable sample{rows.feature_count, {}, {}, {}};
  const std::size_t stride = rows.size() > wanted ? rows.size() / wanted : 1;
  for (std::size_t i = 0; i < rows.size() && sample.size() < wanted; i += stride) sample.add(rows.row(i));
  return sample;
}

}  // namespace mixstream
