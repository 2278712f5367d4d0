#include "mixstream/moments/row_moments.hpp"

#include <algorithm>
#include <numeric>

namespace mixstream {

RowMoments::RowMoments(const BlockKernel& kernel, const Layout& row_layout)
    : layout(row_layout),
      sums(Packing(kernel.variables()).size()),
      compensation(sums.size()),
      pending(kernel.make_block()) {}

double RowMoments::weight() const noexcept {
  const double* weights = pending.weights();
  return std::accumulate(weights, weights + pending.rows(), sums[0] + compensation[0]);
}

void RowMoments::fold(const BlockKernel& kernel, double* workspace) noexcept {
  kernel.accumulate(pending, workspace, sums.data(), compensation.data());
  pending.clear();
}

void RowMoments::clear() noexcept {
  std::ranges::fill(sums, 0.0);
  std::ranges::fill(compensation, 0.0);
  pending.clear();
  rows = 0;
  weight_squares = 0.0;
}

void RowMoments::scale(double factor) noexcept {
  for (double& sum : sums) sum *= factor;
  for (double& rest : compensation) rest *= factor;
  pending.scale_weights(factor);
  weight_squares *= factor * factor;
}

void RowMoments::add(const RowMoments& other, double factor) noexcept {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    add_compensated(sums[i], compensation[i], factor * other.sums[i]);
    compensation[i] += factor * other.compensation[i];
  }
  rows += other.rows;
  weight_squares += factor * factor * other.weight_squares;
}

MomentTensor settled(const RowMoments& moments) {
  RowMoments whole = moments;
  if (whole.pending.rows() > 0) {
    const BlockKernel kernel(whole.layout.variables());
    AlignedDoubles workspace(kernel.workspace_size());
    whole.fold(kernel, workspace.data());
  }
  MomentTensor tensor(whole.layout, Pilot::identity(whole.layout.variables()));
  for (std::size_t i = 0; i < whole.sums.size(); ++i)
    tensor.sums()[i] = whole.sums[i] + whole.compensation[i];
  const double total = tensor.total_weight();
  tensor.effective_rows = whole.weight_squares > 0.0 ? total * total / whole.weight_squares : 0.0;
  tensor.row_count = whole.rows;
  return tensor;
}

}  // namespace mixstream
