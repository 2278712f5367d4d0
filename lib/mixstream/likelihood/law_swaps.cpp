#include "mixstream/likelihood/law_swaps.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "mixstream/likelihood/em_search.hpp"

namespace mixstream {
namespace {

constexpr double real_gain = 0.5;      // nats of all rows: less is EM on its way, not another optimum
constexpr double longest_split = 2.0;  // noise deviations between the middle and either half
constexpr double least_half_weight = 1e-3;

std::size_t drawn_index(Random& random, std::size_t count) noexcept {
  return std::min(count - 1, static_cast<std::size_t>(random.uniform() * static_cast<double>(count)));
}

}  // namespace

LawSwaps::LawSwaps(const RowBlocks& rows, const SwapSettings& settings, Random& random)
    : rows_(rows), settings_(settings), random_(random), common_(common_law(rows)) {}

/// A direction of root mean square `length` over the rows: R^-1 z, R'R = mean of x x', z standard normal.
std::vector<double> LawSwaps::whitened_draw(double length) {
  std::vector<double> draw(rows_.feature_count());
  for (double& number : draw) number = random_.normal();
  common_.factor.solve_root(draw);
  for (double& number : draw) number *= length / std::sqrt(static_cast<double>(draw.size()));
  return draw;
}

/// About the common law, as far from it as rows are.
void LawSwaps::put_random_law(Mixture& mixture, std::size_t component) {
  const std::vector<double> draw = whitened_draw(std::sqrt(common_.noise_variance));
  std::ranges::transform(common_.law, draw, mixture.law(component).begin(), std::plus());
  mixture.weights[component] = 1.0 / static_cast<double>(mixture.component_count());
}

/// beta_g -> beta_g + e and beta_g - e, each with half of its rows.
void LawSwaps::split_law(Mixture& mixture, std::size_t component, std::size_t into) {
  const double spread = std::sqrt(mixture.noise_variances[component]);
  const std::vector<double> draw = whitened_draw(random_.uniform(0.0, longest_split) * spread);
  for (std::size_t j = 0; j < draw.size(); ++j) {
    mixture.law(into)[j] = mixture.law(component)[j] + draw[j];
    mixture.law(component)[j] -= draw[j];
  }
  mixture.weights[component] = mixture.weights[component] / 2.0 + least_half_weight;
  mixture.weights[into] = mixture.weights[component];
  mixture.noise_variances[into] = mixture.noise_variances[component];
}

/// beta_g, beta_h -> their middle +- e, e as long over the rows as half their difference: where laws cross,
/// EM may have joined the beginning of one to the end of the other.
void LawSwaps::turn_pair(Mixture& mixture, std::size_t one, std::size_t other) {
  const std::span<double> first = mixture.law(one);
  const std::span<double> second = mixture.law(other);
  std::vector<double> half(first.size());
  for (std::size_t j = 0; j < half.size(); ++j) half[j] = 0.5 * (first[j] - second[j]);
  const std::vector<double> draw = whitened_draw(common_.length(half));
  for (std::size_t j = 0; j < half.size(); ++j) {
    const double middle = second[j] + half[j];
    first[j] = middle + draw[j];
    second[j] = middle - draw[j];
  }
  mixture.weights[one] = mixture.weights[other] = 0.5 * (mixture.weights[one] + mixture.weights[other]);
}

std::optional<EmFit> LawSwaps::swapped(const EmFit& fit) {
  Mixture trial = fit.mixture;
  const std::size_t k = trial.component_count();
  const std::size_t out = drawn_index(random_, k);
  const std::size_t other = (out + 1 + drawn_index(random_, k - 1)) % k;
  switch (drawn_index(random_, 3)) {
    case 0:
      put_random_law(trial, out);
      break;
    case 1:
      split_law(trial, other, out);
      break;
    default:
      turn_pair(trial, out, other);
  }
  const double total = std::accumulate(trial.weights.begin(), trial.weights.end(), 0.0);
  for (double& weight : trial.weights) weight /= total;
  EmSettings few = settings_.em;
  few.max_iterations = settings_.first_iterations;
  const EmFit begun = fit_em(rows_, trial, few);
  if (!(begun.mean_log_likelihood > fit.mean_log_likelihood - settings_.promising)) return {};
  EmFit end = fit_em(rows_, begun.mixture, settings_.em);
  if (is_spurious(end.mixture, rows_.total_weight())) return {};
  return end;
}

EmFit LawSwaps::improved(EmFit fit, int patience, double enough) {
  if (fit.mixture.component_count() < 2) return fit;
  for (int in_vain = 0; in_vain < patience && fit.mean_log_likelihood < enough; ++in_vain) {
    std::optional<EmFit> next = swapped(fit);
    if (!next) continue;
    const double gain = (next->mean_log_likelihood - fit.mean_log_likelihood) * rows_.total_weight();
    if (gain > real_gain) in_vain = -1;
    if (gain > 0.0) fit = *std::move(next);
  }
  return fit;
}

}  // namespace mixstream
