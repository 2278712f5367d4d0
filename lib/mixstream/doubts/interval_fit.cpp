#include "mixstream/doubts/interval_fit.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/linalg/least_squares.hpp"
#include "mixstream/linalg/products.hpp"

namespace mixstream {
namespace {

constexpr int most_rounds = 200;
constexpr double enough_gain = 1e-6;  // nats a row
constexpr double least_noise = 0.05;  // of the step: rows do not tell less

double upper_tail(double z) noexcept {
  return 0.5 * std::erfc(z / std::numbers::sqrt2);
}
double density(double z) noexcept {
  return std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
}

struct Law {
  double mass = 0.0;
  double squares = 0.0;
  std::vector<double> cross;
  DenseMatrix second;
};

/// Sums of one round; returns the log-likelihood.
double expect(const std::vector<PlacedRow>& rows, double step, const Mixture& mixture,
              std::vector<Law>& laws) {
  const std::size_t k = mixture.component_count();
  const std::size_t d = mixture.feature_count;
  laws.assign(k, {0.0, 0.0, std::vector<double>(d), {d, d, std::vector<double>(d * d)}});
  std::vector<Truncated> seen(k);
  double log_likelihood = 0.0;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    if (t % 256 == 0) yield_point();
    const Row& row = rows[t].row;
    double total = 0.0;
    for (std::size_t h = 0; h < k; ++h) {
      const double sd = std::sqrt(mixture.noise_variances[h]);
      const double residual = row.response - dot(mixture.law(h), row.features);
      seen[h] = truncated_normal((residual - 0.5 * step) / sd, (residual + 0.5 * step) / sd);
      total += seen[h].chance *= mixture.weights[h];
    }
    if (!(total > 1e-280)) continue;  // a row beyond all laws moves none
    log_likelihood += row.weight * std::log(total);
    for (std::size_t h = 0; h < k; ++h) {
      const double share = row.weight * seen[h].chance / total;
      if (share < 1e-12) continue;
      const double variance = mixture.noise_variances[h];
      const double value = dot(mixture.law(h), row.features) + std::sqrt(variance) * seen[h].mean;
      laws[h].mass += share;
      laws[h].squares += share * variance * seen[h].square;
      for (std::size_t i = 0; i < d; ++i) {
        laws[h].cross[i] += share * row.features[i] * value;
        for (std::size_t j = 0; j < d; ++j) laws[h].second(i, j) += share * row.features[i] * row.features[j];
      }
    }
  }
  return log_likelihood;
}

void maximise(const std::vector<Law>& laws, double step, NoiseModel noise, Mixture& mixture) {
  double mass = 0.0, squares = 0.0;
  for (const Law& law : laws) {
    mass += law.mass;
    squares += law.squares;
  }
  const double floor = least_noise * least_noise * step * step;
  for (std::size_t h = 0; h < laws.size(); ++h) {
    mixture.weights[h] = laws[h].mass / mass;
    if (noise != NoiseModel::known) {
      const bool own = noise == NoiseModel::per_component && laws[h].mass > 0.0;
      mixture.noise_variances[h] = std::max(own ? laws[h].squares / laws[h].mass : squares / mass, floor);
    }
    least_squares(laws[h].second, laws[h].cross, mixture.law(h));
  }
}

}  // namespace

Truncated truncated_normal(double low, double high) noexcept {
  if (low + high < 0.0) {  // to the upper side, where differences of tails keep their digits
    const Truncated mirrored = truncated_normal(-high, -low);
    return {mirrored.chance, -mirrored.mean, mirrored.square};
  }
  const double chance = upper_tail(low) - upper_tail(high);
  if (!(chance > 1e-300)) return {0.0, low, low * low};
  const double mean = (density(low) - density(high)) / chance;
  const double square = 1.0 + (low * density(low) - high * density(high)) / chance;
  return {chance, mean, std::max(square, mean * mean)};
}

Mixture fit_intervals(const std::vector<PlacedRow>& rows, double step, const Mixture& start,
                      NoiseModel noise) {
  Mixture mixture = start;
  std::vector<Law> laws;
  double before = -1e300;
  for (int round = 0; round < most_rounds; ++round) {
    const double log_likelihood = expect(rows, step, mixture, laws);
    if (log_likelihood - before < enough_gain * total_weight(rows)) break;
    before = log_likelihood;
    maximise(laws, step, noise, mixture);
  }
  return mixture;
}

}  // namespace mixstream
