#include "mixstream/doubts/spread_fit.hpp"

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
constexpr double widest_slope = 20.0;

/// Sums of one round, law by law.
struct Round {
  Round(std::size_t k, std::size_t d) : mass(k), squares(k), cross(k, std::vector<double>(d)), second(k) {
    for (DenseMatrix& matrix : second) matrix = {d, d, std::vector<double>(d * d)};
  }
  std::vector<double> mass;
  std::vector<double> squares;  // sum r e^2 / exp(c v)
  std::vector<std::vector<double>> cross;
  std::vector<DenseMatrix> second;
  double pull = 0.0;   // d log-likelihood / dc
  double curve = 0.0;  // its information
  double log_likelihood = 0.0;
};

/// `v` empty: the side of the residual takes its place, and the density's constant changes with c.
Round expect(const std::vector<PlacedRow>& rows, std::span<const double> v, const SpreadFit& fit) {
  const std::size_t k = fit.mixture.component_count();
  const std::size_t d = fit.mixture.feature_count;
  Round round(k, d);
  std::vector<double> terms(k), residuals(k), places(k), factors(k);
  const double log_cosh = std::log(std::cosh(0.5 * fit.slope));
  const double level = v.empty() ? std::tanh(0.5 * fit.slope) : 0.0;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    if (t % 256 == 0) yield_point();
    const Row& row = rows[t].row;
    for (std::size_t h = 0; h < k; ++h) {
      residuals[h] = row.response - dot(fit.mixture.law(h), row.features);
      places[h] = v.empty() ? (residuals[h] > 0.0 ? 1.0 : -1.0) : v[t];
      factors[h] = std::exp(std::clamp(fit.slope * places[h], -50.0, 50.0));
      const double variance = fit.mixture.noise_variances[h] * factors[h];
      // On two sides the constant is that of the mean of both sds, s cosh(c / 2): not that of the side.
      const double side = v.empty() ? 0.5 * fit.slope * places[h] - log_cosh : 0.0;
      terms[h] = side + std::log(std::max(fit.mixture.weights[h], 1e-300)) -
                 0.5 * (std::log(2.0 * std::numbers::pi * variance) + residuals[h] * residuals[h] / variance);
    }
    const double top = *std::ranges::max_element(terms);
    double total = 0.0;
    for (double& term : terms) total += term = std::exp(term - top);
    round.log_likelihood += row.weight * (top + std::log(total));
    for (std::size_t h = 0; h < k; ++h) {
      const double share = row.weight * terms[h] / total;
      const double precise = share / factors[h];
      const double z2 = residuals[h] * residuals[h] / (fit.mixture.noise_variances[h] * factors[h]);
      round.mass[h] += share;
      round.squares[h] += precise * residuals[h] * residuals[h];
      round.pull += 0.5 * share * (v.empty() ? z2 * places[h] - level : (z2 - 1.0) * v[t]);
      round.curve +=
          0.5 * share * (z2 * places[h] * places[h] + (v.empty() ? 0.5 * (1.0 - level * level) : 0.0));
      for (std::size_t i = 0; i < d; ++i) {
        round.cross[h][i] += precise * row.features[i] * row.response;
        for (std::size_t j = 0; j < d; ++j)
          round.second[h](i, j) += precise * row.features[i] * row.features[j];
      }
    }
  }
  return round;
}

/// Variances first, at the laws that they were counted at: each part of the step raises the likelihood.
void maximise(const Round& round, NoiseModel noise, bool follows, SpreadFit& fit) {
  double mass = 0.0, squares = 0.0;
  for (std::size_t h = 0; h < round.mass.size(); ++h) {
    mass += round.mass[h];
    squares += round.squares[h];
  }
  for (std::size_t h = 0; h < round.mass.size(); ++h) {
    fit.mixture.weights[h] = round.mass[h] / mass;
    if (noise == NoiseModel::shared) fit.mixture.noise_variances[h] = squares / mass;
    if (noise == NoiseModel::per_component)
      fit.mixture.noise_variances[h] =
          std::max(round.squares[h] / std::max(round.mass[h], 1e-300), 1e-6 * squares / mass);
    least_squares(round.second[h], round.cross[h], fit.mixture.law(h));
  }
  if (follows && round.curve > 0.0)
    fit.slope =
        std::clamp(fit.slope + std::clamp(round.pull / round.curve, -0.5, 0.5), -widest_slope, widest_slope);
}

}  // namespace

SpreadFit fit_skew(const std::vector<PlacedRow>& rows, const Mixture& start, NoiseModel noise, bool leans) {
  return fit_spread(rows, {}, start, noise, leans);
}

TwoPiece two_piece(double slope) noexcept {
  const double above = std::exp(0.5 * slope), below = std::exp(-0.5 * slope);
  const double root = std::sqrt(2.0 / std::numbers::pi);
  const double apart = above - below;
  const double variance = (1.0 - 2.0 / std::numbers::pi) * apart * apart + above * below;
  const double third = root * apart * ((4.0 / std::numbers::pi - 1.0) * apart * apart + above * below);
  return {root * apart, third / (variance * std::sqrt(variance))};
}

SpreadFit fit_spread(const std::vector<PlacedRow>& rows, std::span<const double> v, const Mixture& start,
                     NoiseModel noise, bool follows) {
  SpreadFit fit{start, 0.0, 0.0};
  double before = -1e300;
  for (int round = 0; round < most_rounds; ++round) {
    const Round sums = expect(rows, v, fit);
    fit.log_likelihood = sums.log_likelihood;
    if (fit.log_likelihood - before < enough_gain * total_weight(rows)) break;
    before = fit.log_likelihood;
    maximise(sums, noise, follows, fit);
  }
  return fit;
}

}  // namespace mixstream
