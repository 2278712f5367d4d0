#include "mixstream/likelihood/score_kernel.hpp"
#include "mixstream/linalg/packed.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

namespace mixstream {
namespace {

constexpr std::size_t stride = ScoreKernel::stride;

// Rows further than this from the nearest law, in standard deviations, count for drift as if they were here:
// one wild row must not look like a change of laws.
constexpr double farthest = 8.0;

variants::AccumulateScores variant_for(InstructionSet set) {
  if (!supported(set))
    throw std::invalid_argument("this processor does not run the instruction set asked for");
  switch (set) {
#if defined(__x86_64__)
    case InstructionSet::avx512:
      return variants::scores_avx512;
    case InstructionSet::avx2:
      return variants::scores_avx2;
#endif
    default:
      return variants::scores_plain;
  }
}

std::size_t variance_count_of(std::size_t components, NoiseModel noise) noexcept {
  if (noise == NoiseModel::known) return 0;
  return noise == NoiseModel::shared ? 1 : components;
}

}  // namespace

ScoreShape::ScoreShape(std::size_t components, std::size_t features, NoiseModel noise) noexcept
    : feature_count(features),
      component_count(components),
      variance_count(variance_count_of(components, noise)) {}

void read_score(const ScoreShape& shape, std::span<const double> sums, std::span<double> score) noexcept {
  const std::size_t d = shape.feature_count;
  const std::size_t laws = shape.component_count * d;
  for (std::size_t h = 0; h < shape.component_count; ++h) {
    std::copy_n(sums.begin() + static_cast<std::ptrdiff_t>(shape.cross_at() + h * shape.extras() * d), d,
                score.begin() + static_cast<std::ptrdiff_t>(h * d));
  }
  for (std::size_t l = 1; l < shape.extras(); ++l) score[laws + l - 1] = sums[shape.extras_at() + l];
}

void add_information(const ScoreShape& shape, std::span<const double> sums, double factor,
                     std::span<double> information) noexcept {
  const std::size_t d = shape.feature_count;
  const std::size_t k = shape.component_count;
  const auto pair_at = [](std::size_t n, std::size_t low,
                          std::size_t high) {  // (low, high) in a row-wise list
    return low * n - low * (low + 1) / 2 + high;
  };
  for (std::size_t h = 0; h < k; ++h) {
    for (std::size_t g = 0; g <= h; ++g) {
      const double* block = sums.data() + pair_at(k, g, h) * shape.pair_row();
      for (std::size_t i = 0; i < d; ++i) {
        double* row = information.data() + packed_index(h * d + i, g * d);
        const std::size_t end = h == g ? i + 1 : d;
        for (std::size_t j = 0; j < end; ++j)
          row[j] += factor * block[pair_at(d, std::min(i, j), std::max(i, j))];
      }
    }
  }
  const std::size_t extras = shape.extras();
  for (std::size_t l = 1; l < extras; ++l) {
    double* row = information.data() + packed_index(k * d + l - 1, 0);
    for (std::size_t h = 0; h < k; ++h) {
      const double* cross = sums.data() + shape.cross_at() + (h * extras + l) * d;
      for (std::size_t j = 0; j < d; ++j) row[h * d + j] += factor * cross[j];
    }
    for (std::size_t m = 1; m <= l; ++m) {
      row[k * d + m - 1] += factor * sums[shape.extras_at() + pair_at(extras, m, l)];
    }
  }
}

ScoreKernel::ScoreKernel(std::size_t components, std::size_t features, NoiseModel noise, InstructionSet set)
    : shape_(components, features, noise),
      accumulate_(variant_for(set)),
      coefficients_(components * features),
      weights_(components),
      precisions_(components),
      constants_(components),
      columns_((features + 2) * stride),
      workspace_(variants::score_workspace_columns(components, shape_.extras()) * stride) {
  if (components == 0 || features == 0) throw std::invalid_argument("scores need a mixture with laws");
}

void ScoreKernel::set_anchor(const Mixture& anchor) noexcept {
  constexpr double tiny = std::numeric_limits<double>::min();
  std::ranges::copy(anchor.coefficients, coefficients_.begin());
  std::ranges::copy(anchor.weights, weights_.begin());
  least_log_density_ = std::numeric_limits<double>::infinity();
  for (std::size_t h = 0; h < weights_.size(); ++h) {
    const double variance = std::max(anchor.noise_variances[h], tiny);
    precisions_[h] = 1.0 / variance;
    constants_[h] = std::log(std::max(weights_[h], tiny)) - 0.5 * std::log(2.0 * std::numbers::pi * variance);
    least_log_density_ = std::min(least_log_density_, constants_[h] - 0.5 * farthest * farthest);
  }
}

void ScoreKernel::read_row(std::size_t i, std::span<double> row) const noexcept {
  for (std::size_t column = 0; column < row.size(); ++column) row[column] = columns_[column * stride + i];
}

void ScoreKernel::flush(std::span<double> sums) noexcept {
  std::size_t padded = rows_;
  for (; padded % 8 != 0; ++padded) {  // rows of weight 0 fill the last vector
    for (std::size_t column = 0; column < shape_.feature_count + 2; ++column)
      columns_[column * stride + padded] = 0.0;
  }
  accumulate_(
      {shape_.feature_count, shape_.component_count, shape_.variance_count, padded, stride, columns_.data(),
       coefficients_.data(), weights_.data(), precisions_.data(), constants_.data(), least_log_density_},
      workspace_.data(),
      {sums.data(), sums.data() + shape_.cross_at(), sums.data() + shape_.extras_at(),
       sums.data() + shape_.density_at()});
  rows_ = 0;
}

}  // namespace mixstream
