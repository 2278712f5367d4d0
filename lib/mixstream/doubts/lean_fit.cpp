#include "mixstream/doubts/lean_fit.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/linalg/least_squares.hpp"
#include "mixstream/linalg/products.hpp"

namespace mixstream {
namespace {

constexpr int most_rounds = 300;
constexpr double enough_gain = 1e-6;  // nats a row
constexpr double least_part = 1e-3;   // of sigma^2 and of tau^2 in the variance: neither may vanish

/// Noise of one law, leaning to large values.
struct Lean {
  double sigma = 1.0;
  double tau = 1.0;
};

Lean lean_of(double sigma2, double tau) noexcept {
  const double floor = least_part * (sigma2 + tau * tau);
  return {std::sqrt(std::max(sigma2, floor)), std::sqrt(std::max(tau * tau, floor))};
}

/// log Phi(z), and phi(z) / Phi(z).
struct LowerTail {
  double log_mass, mills;
};
LowerTail lower_tail(double z) noexcept {
  const double log_density = -0.5 * (z * z + std::log(2.0 * std::numbers::pi));
  if (z > -30.0) {
    const double mass = 0.5 * std::erfc(-z * std::numbers::sqrt2 / 2.0);
    return {std::log(mass), std::exp(log_density) / mass};
  }
  const double mills =
      -z - 1.0 / z + 2.0 / (z * z * z);  // the asymptotic series, 1e-7 of itself from here on
  return {log_density - std::log(mills), mills};
}

/// What a residual says under one law.
struct Seen {
  double log_density;
  double mean;    // E[w | e]
  double square;  // E[w^2 | e]
};

/// w | e is N(e - sigma^2 / tau, sigma^2) above zero.
Seen see(double e, const Lean& lean) noexcept {
  const double variance = lean.sigma * lean.sigma;
  const double middle = e - variance / lean.tau;
  const double z = middle / lean.sigma;
  const LowerTail tail = lower_tail(z);
  const double mean = std::max(middle + lean.sigma * tail.mills, 0.0);
  const double spread = variance * std::max(1.0 - tail.mills * (tail.mills + z), 0.0);
  return {0.5 * variance / (lean.tau * lean.tau) - e / lean.tau - std::log(lean.tau) + tail.log_mass, mean,
          spread + mean * mean};
}

/// The mixture while it is fitted: laws of u alone, responses turned so that the noise leans to large values.
struct State {
  Mixture laws;
  std::vector<Lean> noise;
  double side = 1.0;
};

/// Sums of one round for one law.
struct Sums {
  explicit Sums(std::size_t d) : cross(d), second{d, d, std::vector<double>(d * d)} {}
  double mass = 0.0;
  double w = 0.0, u2 = 0.0;            // E w, E u^2
  double e = 0.0, e2 = 0.0, e3 = 0.0;  // of the residuals
  std::vector<double> cross;           // x (y - E w)
  DenseMatrix second;                  // x x'
};

std::vector<Sums> expect(const std::vector<PlacedRow>& rows, const State& state, double& log_likelihood) {
  const std::size_t k = state.laws.component_count(), d = state.laws.feature_count;
  std::vector<Sums> sums(k, Sums(d));
  std::vector<Seen> seen(k);
  std::vector<double> residuals(k), terms(k);
  log_likelihood = 0.0;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    if (t % 256 == 0) yield_point();
    const Row& row = rows[t].row;
    const double response = state.side * row.response;
    for (std::size_t h = 0; h < k; ++h) {
      residuals[h] = response - dot(state.laws.law(h), row.features);
      seen[h] = see(residuals[h], state.noise[h]);
      terms[h] = std::log(std::max(state.laws.weights[h], 1e-300)) + seen[h].log_density;
    }
    const double top = *std::ranges::max_element(terms);
    double total = 0.0;
    for (double& term : terms) total += term = std::exp(term - top);
    log_likelihood += row.weight * (top + std::log(total));
    for (std::size_t h = 0; h < k; ++h) {
      const double share = row.weight * terms[h] / total;
      const double e = residuals[h];
      sums[h].mass += share;
      sums[h].e += share * e;
      sums[h].e2 += share * e * e;
      sums[h].e3 += share * e * e * e;
      sums[h].w += share * seen[h].mean;
      sums[h].u2 += share * (e * e - 2.0 * e * seen[h].mean + seen[h].square);
      for (std::size_t i = 0; i < d; ++i) {
        sums[h].cross[i] += share * row.features[i] * (response - seen[h].mean);
        for (std::size_t j = 0; j < d; ++j) sums[h].second(i, j) += share * row.features[i] * row.features[j];
      }
    }
  }
  return sums;
}

/// Noise first, at the laws that it was counted at: each part of the step raises the likelihood.
void maximise(const std::vector<Sums>& sums, NoiseModel noise, State& state) {
  double mass = 0.0, w = 0.0, u2 = 0.0;
  for (const Sums& law : sums) {
    mass += law.mass;
    w += law.w;
    u2 += law.u2;
  }
  for (std::size_t h = 0; h < sums.size(); ++h) {
    const Sums& law = sums[h];
    state.laws.weights[h] = law.mass / mass;
    const double own = std::max(law.mass, 1e-300);
    state.noise[h] =
        noise == NoiseModel::shared ? lean_of(u2 / mass, w / mass) : lean_of(law.u2 / own, law.w / own);
    least_squares(law.second, law.cross, state.laws.law(h));
  }
}

/// Mean over laws of the residuals' own skewness: noise of another shape than this model's has another.
double skewness_of(const std::vector<Sums>& sums) noexcept {
  double skewness = 0.0, mass = 0.0;
  for (const Sums& law : sums) {
    const double own = std::max(law.mass, 1e-300);
    const double mean = law.e / own, second = law.e2 / own;
    const double variance = std::max(second - mean * mean, 1e-300);
    const double third = law.e3 / own - 3.0 * mean * second + 2.0 * mean * mean * mean;
    skewness += law.mass * third / (variance * std::sqrt(variance));
    mass += law.mass;
  }
  return skewness / mass;
}

/// Responses turned, and laws of u alone: without the mean of w.
State state_of(const Mixture& start, const RawUnits& units, double guess) {
  State state{start, {}, guess < 0.0 ? -1.0 : 1.0};
  const double part = std::pow(0.5 * std::min(std::abs(guess), 1.5), 2.0 / 3.0);  // of tau^2 in the variance
  for (std::size_t h = 0; h < start.component_count(); ++h) {
    const double variance = start.noise_variances[h];
    state.noise.push_back(lean_of((1.0 - part) * variance, std::sqrt(part * variance)));
    for (std::size_t j = 0; j < start.feature_count; ++j) {
      double& coefficient = state.laws.law(h)[j];
      coefficient *= state.side;
      if (units.is_constant(j)) coefficient -= state.noise[h].tau;
    }
  }
  return state;
}

}  // namespace

double lean_skewness(const std::vector<PlacedRow>& rows, const RawUnits& units, const Mixture& start,
                     NoiseModel noise, double guess) {
  State state = state_of(start, units, guess);
  double skewness = guess, log_likelihood = 0.0, before = -1e300;
  for (int round = 0; round < most_rounds; ++round) {
    const std::vector<Sums> sums = expect(rows, state, log_likelihood);
    skewness = state.side * skewness_of(sums);
    if (log_likelihood - before < enough_gain * total_weight(rows)) break;
    before = log_likelihood;
    maximise(sums, noise, state);
  }
  return skewness;
}

}  // namespace mixstream
