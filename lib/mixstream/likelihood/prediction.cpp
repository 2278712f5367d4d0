#include "mixstream/likelihood/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "mixstream/likelihood/likelihood.hpp"

namespace mixstream {
namespace {

constexpr int most_steps = 200;     // more than 60 halvings: all digits, whatever Newton does
constexpr double greatest = 1e300;  // brackets stay finite whatever the laws say

double fitted(const Mixture& mixture, std::size_t component, std::span<const double> features) noexcept {
  return std::inner_product(features.begin(), features.end(), mixture.law(component).begin(), 0.0);
}

struct Tail {
  double probability;  // P(side * y < side * at)
  double density;
};

/// The tail below `at` (side 1), or above it seen in a mirror (side -1): no digits lost in either tail.
Tail tail_at(const Mixture& mixture, std::span<const double> features, double side, double at) noexcept {
  Tail tail{0.0, 0.0};
  for (std::size_t h = 0; h < mixture.component_count(); ++h) {
    const double sigma = std::sqrt(std::max(mixture.noise_variances[h], std::numeric_limits<double>::min()));
    const double t = (at - side * fitted(mixture, h, features)) / sigma;
    tail.probability += mixture.weights[h] * 0.5 * std::erfc(-t / std::numbers::sqrt2);
    tail.density += mixture.weights[h] * std::exp(-0.5 * t * t) / (sigma * std::sqrt(2.0 * std::numbers::pi));
  }
  return tail;
}

/// The point with that much probability in the tail: Newton's steps inside a bracket, every third one a
/// halving.
double tail_quantile(const Mixture& mixture, std::span<const double> features, double side,
                     double probability) noexcept {
  double low = greatest;
  double high = -greatest;
  for (std::size_t h = 0; h < mixture.component_count(); ++h) {
    const double centre = side * fitted(mixture, h, features);
    const double reach = 10.0 * std::sqrt(mixture.noise_variances[h]);  // the tail beyond is below 1e-23
    low = std::min(low, std::max(centre - reach, -greatest));
    high = std::max(high, std::min(centre + reach, greatest));
  }
  double at = 0.5 * low + 0.5 * high;
  const double close = 1e-15 * (high - low);
  for (int step = 1; step <= most_steps; ++step) {
    const Tail tail = tail_at(mixture, features, side, at);
    (tail.probability < probability ? low : high) = at;
    const double newton = at - (tail.probability - probability) / tail.density;
    const bool inside = newton > low && newton < high;
    const double next = inside && step % 3 != 0 ? newton : 0.5 * low + 0.5 * high;
    const bool settled = std::abs(next - at) <= close;
    at = next;
    if (settled) break;
  }
  return side * at;
}

}  // namespace

double expected_response(const Mixture& mixture, std::span<const double> features) noexcept {
  double mean = 0.0;
  for (std::size_t h = 0; h < mixture.component_count(); ++h) {
    mean += mixture.weights[h] * fitted(mixture, h, features);
  }
  return mean;
}

Interval predictive_interval(const Mixture& mixture, std::span<const double> features,
                             double level) noexcept {
  const double inside = level > 0.0 ? std::min(level, 1.0 - 1e-12) : 0.0;  // NaN included
  const double tail = 0.5 * (1.0 - inside);
  const double low = tail_quantile(mixture, features, 1.0, tail);
  const double high = inside > 0.0 ? tail_quantile(mixture, features, -1.0, tail) : low;
  return {std::min(low, high), std::max(low, high)};
}

RowPrediction predict_row(const Mixture& mixture, std::span<const double> features,
                          std::optional<double> response, double level,
                          std::span<double> probabilities) noexcept {
  std::ranges::copy(mixture.weights, probabilities.begin());
  if (response) responsibilities(mixture, {features, *response}, probabilities);
  RowPrediction prediction;
  prediction.component =
      static_cast<std::size_t>(std::ranges::max_element(probabilities) - probabilities.begin());
  for (std::size_t h = 0; h < mixture.component_count(); ++h)
    prediction.expected += probabilities[h] * fitted(mixture, h, features);
  prediction.interval = predictive_interval(mixture, features, level);
  return prediction;
}

}  // namespace mixstream
