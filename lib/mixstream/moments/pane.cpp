#include "mixstream/moments/pane.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mixstream/moments/tensor.hpp"

namespace mixstream {
BinMoments::BinMoments(const BlockKernel& kernel)
    : sums(Packing(kernel.variables()).size()), compensation(sums.size()), pending(kernel.make_block()) {}

double BinMoments::weight() const noexcept {
  const double* weights = pending.weights();
  return std::accumulate(weights, weights + pending.rows(), sums[0] + compensation[0]);
}

Pane::Pane(const BlockKernel& kernel, std::size_t reservoir_rows, std::size_t feature_count)
    : bins{BinMoments(kernel), BinMoments(kernel), BinMoments(kernel), BinMoments(kernel)},
      reservoir(reservoir_rows, feature_count) {}

void BinMoments::fold(const BlockKernel& kernel, double* workspace) noexcept {
  kernel.accumulate(pending, workspace, sums.data(), compensation.data());
  pending.clear();
}

void Pane::flush(const BlockKernel& kernel, double* workspace) noexcept {
  for (BinMoments& bin : bins) bin.fold(kernel, workspace);
}

void Pane::scale(double factor) noexcept {
  for (BinMoments& bin : bins) {
    for (double& sum : bin.sums) sum *= factor;
    for (double& rest : bin.compensation) rest *= factor;
    bin.pending.scale_weights(factor);
    bin.weight_squares *= factor * factor;
  }
  reservoir.scale_weights(factor);
}

void Pane::add(const Pane& other, double factor) noexcept {
  for (std::size_t b = 0; b < bin_count; ++b) {
    BinMoments& bin = bins[b];
    const BinMoments& more = other.bins[b];
    for (std::size_t i = 0; i < bin.sums.size(); ++i) {
      add_compensated(bin.sums[i], bin.compensation[i], factor * more.sums[i]);
      bin.compensation[i] += factor * more.compensation[i];
    }
    bin.rows += more.rows;
    bin.weight_squares += factor * factor * more.weight_squares;
  }
  reservoir.merge(other.reservoir, factor);
}

void Pane::clear() noexcept {
  for (BinMoments& bin : bins) {
    std::ranges::fill(bin.sums, 0.0);
    std::ranges::fill(bin.compensation, 0.0);
    bin.pending.clear();
    bin.rows = 0;
    bin.weight_squares = 0.0;
  }
  reservoir.clear();
}

void Pane::change_coordinates(const Packing& packing, const Pilot& from, const Pilot& to) {
  for (BinMoments& bin : bins) {
    if (bin.rows == 0) continue;
    mixstream::change_coordinates(bin.sums, packing, from, to);
    mixstream::change_coordinates(bin.compensation, packing, from, to);
  }
}

bool Pane::finite() const noexcept {
  const auto sound = [](double value) { return std::isfinite(value); };
  return std::ranges::all_of(bins, [&](const BinMoments& bin) {
    return sound(bin.weight_squares) && std::ranges::all_of(bin.sums, sound) &&
           std::ranges::all_of(bin.compensation, sound);
  });
}

}  // namespace mixstream
