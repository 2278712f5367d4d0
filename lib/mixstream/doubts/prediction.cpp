#include "mixstream/doubts/prediction.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/linalg/products.hpp"

namespace mixstream {
namespace {

double mean_variance(const Mixture& laws) {
  double variance = 0.0;
  for (std::size_t h = 0; h < laws.component_count(); ++h)
    variance += laws.weights[h] * laws.noise_variances[h];
  return variance;
}

void find_chances(const Predictor& by, const Row& row, std::size_t t, std::span<double> chances) {
  if (by.shape.modes == Modes::gated)
    open_gate(by.model, by.shape, row.features, chances);
  else
    std::ranges::copy(by.model.laws.weights, chances.begin());
  if (by.tilts.empty()) return;
  double total = 0.0;
  for (std::size_t h = 0; h < chances.size(); ++h)
    total += chances[h] *= std::exp(std::clamp(by.tilts[h] * by.tilted_by[t], -30.0, 30.0));
  for (double& chance : chances) chance /= total;
}

double expected_response(const Predictor& by, const Row& row, std::size_t t, std::span<double> chances) {
  find_chances(by, row, t, chances);
  const std::size_t d = row.features.size();
  double expected = 0.0;
  for (std::size_t h = 0; h < chances.size(); ++h) {
    const auto law = by.model.laws.law(h);
    double value = dot(law.first(d), row.features);
    if (!by.more.empty()) value += law[d] * by.more[t];
    expected += chances[h] * value;
  }
  return expected;
}

}  // namespace

double prediction_shift(const Predictor& one, const Predictor& other, const std::vector<PlacedRow>& rows,
                        const ModeModel& noise) {
  const double variance = mean_variance(noise.laws);
  std::vector<double> of_one(one.shape.component_count), of_other(other.shape.component_count);
  double squares = 0.0, weight = 0.0;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    const Row& row = rows[t].row;
    const double gap = expected_response(one, row, t, of_one) - expected_response(other, row, t, of_other);
    squares += row.weight * gap * gap;
    weight += row.weight;
  }
  const double shift = std::sqrt(squares / std::max(weight * variance, 1e-300));
  return std::isfinite(shift) ? shift : 0.0;
}

double prediction_shift(const Mixture& one, const Mixture& other, std::span<const double> terms,
                        const DenseMatrix& features) {
  const std::size_t d = one.feature_count;
  std::vector<double> gap(d), product(d);
  double term = 0.0;
  for (std::size_t h = 0; h < one.component_count(); ++h) {
    for (std::size_t j = 0; j < d; ++j)
      gap[j] += other.weights[h] * other.law(h)[j] - one.weights[h] * one.law(h)[j];
    term += other.weights[h] * terms[h];
  }
  multiply(features, gap, product);
  const double shift =
      std::sqrt((std::max(dot(gap, product), 0.0) + term * term) / std::max(mean_variance(one), 1e-300));
  return std::isfinite(shift) ? shift : 0.0;
}

}  // namespace mixstream
