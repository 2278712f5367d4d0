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

Expected expected_of(const Predictor& by, const Row& row, std::size_t t, std::span<double> chances) {
  find_chances(by, row, t, chances);
  const std::size_t d = row.features.size();
  Expected expected;
  double squares = 0.0;
  for (std::size_t h = 0; h < chances.size(); ++h) {
    const auto law = by.model.laws.law(h);
    double value = dot(law.first(d), row.features);
    if (!by.more.empty()) value += law[d] * by.more[t];
    expected.response += chances[h] * value;
    squares += chances[h] * value * value;
  }
  expected.spread = std::max(squares - expected.response * expected.response, 0.0);
  return expected;
}

}  // namespace

std::vector<Expected> expectations(const Predictor& by, const std::vector<PlacedRow>& rows) {
  std::vector<double> chances(by.shape.component_count);
  std::vector<Expected> result;
  result.reserve(rows.size());
  for (std::size_t t = 0; t < rows.size(); ++t) result.push_back(expected_of(by, rows[t].row, t, chances));
  return result;
}

double prediction_shift(const std::vector<Expected>& one, const Predictor& other,
                        const std::vector<PlacedRow>& rows, const ModeModel& noise) {
  std::vector<double> chances(other.shape.component_count);
  double squares = 0.0, spread = 0.0, weight = 0.0;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    const Row& row = rows[t].row;
    const double gap = one[t].response - expected_of(other, row, t, chances).response;
    squares += row.weight * gap * gap;
    spread += row.weight * one[t].spread;
    weight += row.weight;
  }
  const double shift = std::sqrt(squares / std::max(weight * mean_variance(noise.laws) + spread, 1e-300));
  return std::isfinite(shift) ? shift : 0.0;
}

double prediction_shift(const Predictor& one, const Predictor& other, const std::vector<PlacedRow>& rows,
                        const ModeModel& noise) {
  return prediction_shift(expectations(one, rows), other, rows, noise);
}

double prediction_shift(const Mixture& one, const Mixture& other, std::span<const double> terms,
                        const DenseMatrix& features) {
  const std::size_t d = one.feature_count;
  std::vector<double> gap(d), mean(d), product(d);
  const auto square_of = [&](std::span<const double> law) {
    multiply(features, law, product);
    return std::max(dot(law, product), 0.0);
  };
  double term = 0.0;
  double variance = mean_variance(one);
  for (std::size_t h = 0; h < one.component_count(); ++h) {
    for (std::size_t j = 0; j < d; ++j) {
      mean[j] += one.weights[h] * one.law(h)[j];
      gap[j] += other.weights[h] * other.law(h)[j] - one.weights[h] * one.law(h)[j];
    }
    term += other.weights[h] * terms[h];
    variance += one.weights[h] * square_of(one.law(h));
  }
  variance -= square_of(mean);
  const double shift = std::sqrt((square_of(gap) + term * term) / std::max(variance, 1e-300));
  return std::isfinite(shift) ? shift : 0.0;
}

}  // namespace mixstream
