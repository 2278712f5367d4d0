#include "mixstream/likelihood/maximisation.hpp"

#include <algorithm>

namespace mixstream {

Maximisation::Maximisation(std::size_t feature_count, NoiseModel noise, double floor)
    : noise_(noise),
      floor_(floor),
      gram_size_(feature_count * (feature_count + 1) / 2),
      factor_(feature_count),
      step_(feature_count) {}

/// Adds G^-1 c to the law, G = sum w r x x' and c = sum w r x e; returns the sum of squared residuals after
/// the move. Sums of residuals keep the digits that sums of y^2 would cancel, and a direction without rows
/// keeps its old value.
double Maximisation::move_law(const ComponentSums& sums, std::span<double> law) noexcept {
  const std::span<const double> cross = sums.triangle.subspan(gram_size_, law.size());
  factor_.factor(sums.triangle.first(gram_size_));
  std::ranges::copy(cross, step_.begin());
  factor_.solve(step_);
  double squares = sums.triangle.back();
  for (std::size_t i = 0; i < law.size(); ++i) {
    law[i] += step_[i];
    squares -= step_[i] * cross[i];
  }
  return std::max(squares, 0.0);
}

void Maximisation::operator()(std::span<const double> sums, Mixture& mixture) noexcept {
  double total_count = 0.0;
  double total_squares = 0.0;
  for (std::size_t h = 0; h < mixture.component_count(); ++h) {
    const ComponentSums part = component_sums(sums, h, mixture.feature_count);
    const double squares = move_law(part, mixture.law(h));
    mixture.weights[h] = part.count;
    total_count += part.count;
    total_squares += squares;
    if (noise_ == NoiseModel::per_component && part.count > 0.0) {
      mixture.noise_variances[h] = std::max(squares / part.count, floor_);
    }
  }
  for (double& weight : mixture.weights) weight /= total_count;
  if (noise_ == NoiseModel::shared) {
    std::ranges::fill(mixture.noise_variances, std::max(total_squares / total_count, floor_));
  }
}

}  // namespace mixstream
