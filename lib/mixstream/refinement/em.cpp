#include "mixstream/refinement/em.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "mixstream/refinement/likelihood.hpp"

namespace mixstream {
namespace {

constexpr double least_variance = 1e-300;

/// sum_i w_i r_ih (x x', x e, e^2, 1) of one component, e = y - b . x at its present law b: sums of residuals
/// keep their digits where sums of y^2 would cancel.
struct ComponentSums {
  std::vector<double> gram;   // lower triangle, row by row
  std::vector<double> cross;  // sum x e
  double squares = 0.0;       // sum e^2
  double count = 0.0;         // sum w r
};

void add(ComponentSums& sums, std::span<const double> features, double residual, double share) noexcept {
  std::size_t at = 0;
  for (std::size_t i = 0; i < features.size(); ++i) {
    const double scaled = share * features[i];
    for (std::size_t j = 0; j <= i; ++j) sums.gram[at++] += scaled * features[j];
    sums.cross[i] += scaled * residual;
  }
  sums.squares += share * residual * residual;
  sums.count += share;
}

double expected_sums(const RowTable& rows, const Mixture& mixture, std::vector<double>& probabilities,
                     std::vector<ComponentSums>& sums) noexcept {
  for (ComponentSums& component : sums) {
    std::ranges::fill(component.gram, 0.0);
    std::ranges::fill(component.cross, 0.0);
    component.squares = component.count = 0.0;
  }
  double log_likelihood = 0.0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row row = rows.row(i);
    log_likelihood += row.weight * responsibilities(mixture, row, probabilities);
    for (std::size_t h = 0; h < sums.size(); ++h) {
      const double fitted =
          std::inner_product(row.features.begin(), row.features.end(), mixture.law(h).begin(), 0.0);
      add(sums[h], row.features, row.response - fitted, row.weight * probabilities[h]);
    }
  }
  return log_likelihood;
}

/// Moves the law by gram^-1 cross and returns the sum of squared residuals after the move. A tiny ridge,
/// relative to each feature's own size, acts on the move: a direction without rows keeps its old value.
double move_law(const ComponentSums& sums, std::span<double> law, std::vector<double>& factor,
                std::vector<double>& step) noexcept {
  const std::size_t d = law.size();
  factor = sums.gram;
  for (std::size_t i = 0; i < d; ++i) {
    double* row = factor.data() + i * (i + 1) / 2;
    const double ridge = row[i] > 0.0 ? 1e-12 * row[i] : 1.0;
    for (std::size_t j = 0; j <= i; ++j) {
      const double* other = factor.data() + j * (j + 1) / 2;
      double value = row[j];
      for (std::size_t m = 0; m < j; ++m) value -= row[m] * other[m];
      row[j] = i == j ? std::sqrt(std::max(value, 0.0) + ridge) : value / other[j];
    }
    step[i] = sums.cross[i];
    for (std::size_t j = 0; j < i; ++j) step[i] -= row[j] * step[j];
    step[i] /= row[i];
  }
  double squares = sums.squares;
  for (std::size_t i = d; i-- > 0;) {
    for (std::size_t m = i + 1; m < d; ++m) step[i] -= factor[m * (m + 1) / 2 + i] * step[m];
    step[i] /= factor[i * (i + 1) / 2 + i];
    law[i] += step[i];
    squares -= step[i] * sums.cross[i];
  }
  return std::max(squares, 0.0);
}

struct Workspace {
  std::vector<double> probabilities;
  std::vector<ComponentSums> sums;
  std::vector<double> factor;
  std::vector<double> step;
};

void maximise(Workspace& work, NoiseModel noise, double floor, Mixture& mixture) noexcept {
  double total_count = 0.0;
  double total_squares = 0.0;
  for (std::size_t h = 0; h < work.sums.size(); ++h) {
    const ComponentSums& sums = work.sums[h];
    const double squares = move_law(sums, mixture.law(h), work.factor, work.step);
    total_count += sums.count;
    total_squares += squares;
    if (noise == NoiseModel::per_component && sums.count > 0.0) {
      mixture.noise_variances[h] = std::max(squares / sums.count, floor);
    }
  }
  for (std::size_t h = 0; h < work.sums.size(); ++h) {
    mixture.weights[h] = work.sums[h].count / total_count;
    if (noise == NoiseModel::shared) {
      mixture.noise_variances[h] = std::max(total_squares / total_count, floor);
    }
  }
}

bool is_finite(const Mixture& mixture) noexcept {
  const auto all_finite = [](const std::vector<double>& values) {
    return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
  };
  return all_finite(mixture.weights) && all_finite(mixture.coefficients) &&
         all_finite(mixture.noise_variances);
}

/// Weighted Var(y).
double response_variance(const RowTable& rows) noexcept {
  double weight = 0.0;
  double mean = 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    weight += rows.weights[i];
    const double step = rows.responses[i] - mean;
    mean += step * rows.weights[i] / weight;
    squares += rows.weights[i] * step * (rows.responses[i] - mean);
  }
  return weight > 0.0 ? squares / weight : 0.0;
}

}  // namespace

EmFit fit_em(const RowTable& rows, const Mixture& start, const EmSettings& settings) {
  EmFit fit{start};
  double total = 0.0;
  for (const double weight : rows.weights) total += weight;
  if (!(total > 0.0)) return fit;
  const std::size_t k = start.component_count();
  const std::size_t d = start.feature_count;
  const ComponentSums empty{std::vector<double>(d * (d + 1) / 2), std::vector<double>(d)};
  Workspace work{std::vector<double>(k), std::vector<ComponentSums>(k, empty), {}, std::vector<double>(d)};
  const double spread = response_variance(rows);
  const double floor =
      std::max(std::isfinite(spread) ? settings.variance_floor * spread : 0.0, least_variance);
  if (settings.noise != NoiseModel::known) {
    for (double& variance : fit.mixture.noise_variances) variance = std::max(variance, floor);
  }
  Mixture next = fit.mixture;
  double previous = -std::numeric_limits<double>::infinity();
  while (true) {
    fit.mean_log_likelihood = expected_sums(rows, fit.mixture, work.probabilities, work.sums) / total;
    fit.converged = fit.mean_log_likelihood - previous < settings.stop_below_gain;
    if (fit.converged || fit.iterations >= settings.max_iterations) return fit;
    previous = fit.mean_log_likelihood;
    maximise(work, settings.noise, floor, next);
    if (!is_finite(next)) return fit;  // sums overflowed: the last finite mixture is the answer
    fit.mixture = next;
    ++fit.iterations;
  }
}

Mixture random_em_start(std::size_t component_count, std::size_t feature_count, Random& random) {
  Mixture start = empty_mixture(component_count, feature_count);
  double total = 0.0;
  for (double& weight : start.weights) {
    weight = 1.0 / static_cast<double>(component_count) + random.uniform(-0.02, 0.02);
    weight = std::max(weight, 1e-3);  // with k past 50 the perturbation could reach zero
    total += weight;
  }
  for (double& weight : start.weights) weight /= total;
  for (double& coefficient : start.coefficients) coefficient = random.normal();
  std::ranges::fill(start.noise_variances, 1.0);
  return start;
}

}  // namespace mixstream
