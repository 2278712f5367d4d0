#include "mixstream/likelihood/likelihood.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/likelihood/expectation.hpp"

namespace mixstream {
namespace {

// A row so far from every law that its squared residual overflows still has a finite log-likelihood.
constexpr double least_log_term = -1e200;

double residual(const Mixture& mixture, std::size_t component, const Row& row) noexcept {
  return row.response -
         std::inner_product(row.features.begin(), row.features.end(), mixture.law(component).begin(), 0.0);
}

/// log( pi_h N(y; beta_h . x, s2_h) ), finite for every finite row.
double log_term(const Mixture& mixture, std::size_t component, const Row& row) noexcept {
  constexpr double tiny = std::numeric_limits<double>::min();
  const double variance = std::max(mixture.noise_variances[component], tiny);
  const double e = residual(mixture, component, row);
  const double value = std::log(std::max(mixture.weights[component], tiny)) -
                       0.5 * (std::log(2.0 * std::numbers::pi) + std::log(variance)) - 0.5 * e * e / variance;
  return value > least_log_term ? value : least_log_term;  // NaN and -infinity included
}

}  // namespace

double responsibilities(const Mixture& mixture, const Row& row, std::span<double> probabilities) noexcept {
  const std::size_t k = mixture.component_count();
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t h = 0; h < k; ++h) {
    probabilities[h] = log_term(mixture, h, row);
    largest = std::max(largest, probabilities[h]);
  }
  double total = 0.0;
  for (std::size_t h = 0; h < k; ++h) {
    probabilities[h] = std::exp(probabilities[h] - largest);
    total += probabilities[h];
  }
  for (std::size_t h = 0; h < k; ++h) probabilities[h] /= total;
  return largest + std::log(total);
}

double log_likelihood(const Mixture& mixture, const Row& row) noexcept {
  double largest = least_log_term;
  double total = 0.0;  // sum of exp(term - largest)
  for (std::size_t h = 0; h < mixture.component_count(); ++h) {
    const double term = log_term(mixture, h, row);
    if (term > largest) {
      total = total * std::exp(largest - term) + 1.0;
      largest = term;
    } else {
      total += std::exp(term - largest);
    }
  }
  return largest + std::log(total);
}

std::size_t most_likely_component(const Mixture& mixture, const Row& row) noexcept {
  std::size_t best = 0;
  double largest = log_term(mixture, 0, row);
  for (std::size_t h = 1; h < mixture.component_count(); ++h) {
    const double term = log_term(mixture, h, row);
    if (term > largest) {
      largest = term;
      best = h;
    }
  }
  return best;
}

double mean_log_likelihood(const Mixture& mixture, const RowTable& rows) {
  Expectation expectation(mixture.component_count(), mixture.feature_count);
  expectation.begin(mixture);
  std::vector<double> block((rows.feature_count + 2) * variants::em_block_rows);
  double weight = 0.0;
  for (std::size_t first = 0; first < rows.size(); first += variants::em_block_rows) {
    if (first % (16 * variants::em_block_rows) == 0) yield_point();
    fill_block(rows, first, block.data());
    expectation.add_likelihood(block.data());
    weight = std::accumulate(block.end() - variants::em_block_rows, block.end(), weight);
  }
  return weight > 0.0 ? expectation.log_likelihood() / weight : 0.0;
}

// beta_h: r_h e_h x / s2_h;  log-odds of h: r_h - pi_h;  log s2_h: r_h (e_h^2 / s2_h - 1) / 2, summed if
// shared.
double row_score(const Mixture& mixture, const Row& row, NoiseModel noise, std::span<double> probabilities,
                 std::span<double> score) noexcept {
  const std::size_t k = mixture.component_count();
  const std::size_t d = mixture.feature_count;
  const double log_density = responsibilities(mixture, row, probabilities);
  const std::span<double> by_odds = score.subspan(k * d, k - 1);
  const std::span<double> by_variance = score.subspan(k * d + k - 1);
  std::ranges::fill(by_variance, 0.0);
  for (std::size_t h = 0; h < k; ++h) {
    const double variance = std::max(mixture.noise_variances[h], std::numeric_limits<double>::min());
    const double e = residual(mixture, h, row);
    // A probability that underflowed to zero wipes out any residual, overflowed ones included.
    const double pull = probabilities[h] > 0.0 ? probabilities[h] * e / variance : 0.0;
    for (std::size_t j = 0; j < d; ++j) score[h * d + j] = pull * row.features[j];
    if (h + 1 < k) by_odds[h] = probabilities[h] - mixture.weights[h];
    if (noise == NoiseModel::known) continue;
    by_variance[noise == NoiseModel::shared ? 0 : h] += 0.5 * (pull * e - probabilities[h]);
  }
  return log_density;
}

}  // namespace mixstream
