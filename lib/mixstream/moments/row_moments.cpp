#include "mixstream/moments/row_moments.hpp"

#include <algorithm>
#include <numeric>

#include "mixstream/moments/view.hpp"

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

DenseMatrix view(const RowMoments& moments, int power, int left, int right) {
  const Packing packing(moments.layout.variables());
  const RowBlock& pending = moments.pending;
  const std::size_t stride = column_stride(pending.capacity());
  const auto sum_of = [&](const SixIndices& indices) {
    const std::size_t at = packing.position(indices);
    double sum = moments.sums[at] + moments.compensation[at];
    for (std::size_t row = 0; row < pending.rows(); ++row) {
      double product = pending.weights()[row];
      for (const int variable : indices)
        product *= pending.values()[static_cast<std::size_t>(variable) * stride + row];
      sum += product;
    }
    return sum;
  };
  return view_of(moments.layout, power, left, right, Variables::features, moments.weight(), sum_of);
}

}  // namespace mixstream
