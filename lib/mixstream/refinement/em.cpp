#include "mixstream/refinement/em.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "mixstream/refinement/expectation.hpp"

namespace mixstream {
namespace {

constexpr double least_variance = 1e-300;

bool all_finite(const std::vector<double>& values) noexcept {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

bool is_finite(const Mixture& mixture) noexcept {
  return all_finite(mixture.weights) && all_finite(mixture.coefficients) &&
         all_finite(mixture.noise_variances);
}

/// One maximisation step: weighted least squares for every component, then weights and noise variances.
class Maximisation {
 public:
  Maximisation(std::size_t feature_count, NoiseModel noise, double floor)
      : noise_(noise),
        floor_(floor),
        factor_(feature_count * (feature_count + 1) / 2),
        step_(feature_count) {}

  /// Moves the mixture whose sums the expectation holds. No allocation.
  void operator()(const Expectation& expectation, Mixture& mixture) noexcept;

 private:
  double move_law(std::span<const double> triangle, std::span<double> law) noexcept;

  NoiseModel noise_;
  double floor_;
  std::vector<double> factor_;
  std::vector<double> step_;
};

/// Adds G^-1 c to the law, G = sum w r x x' and c = sum w r x e, by Cholesky; returns the sum of squared
/// residuals after the move. Sums of residuals keep the digits that sums of y^2 would cancel. A tiny ridge,
/// relative to each feature's own size, acts on the move: a direction without rows keeps its old value.
double Maximisation::move_law(std::span<const double> triangle, std::span<double> law) noexcept {
  const std::size_t d = law.size();
  std::ranges::copy(triangle.first(factor_.size()), factor_.begin());
  const std::span<const double> cross = triangle.subspan(factor_.size(), d);
  for (std::size_t i = 0; i < d; ++i) {
    double* row = factor_.data() + i * (i + 1) / 2;
    const double ridge = row[i] > 0.0 ? 1e-12 * row[i] : 1.0;
    for (std::size_t j = 0; j <= i; ++j) {
      const double* other = factor_.data() + j * (j + 1) / 2;
      double value = row[j];
      for (std::size_t m = 0; m < j; ++m) value -= row[m] * other[m];
      row[j] = i == j ? std::sqrt(std::max(value, 0.0) + ridge) : value / other[j];
    }
    step_[i] = cross[i];
    for (std::size_t j = 0; j < i; ++j) step_[i] -= row[j] * step_[j];
    step_[i] /= row[i];
  }
  double squares = triangle.back();
  for (std::size_t i = d; i-- > 0;) {
    for (std::size_t m = i + 1; m < d; ++m) step_[i] -= factor_[m * (m + 1) / 2 + i] * step_[m];
    step_[i] /= factor_[i * (i + 1) / 2 + i];
    law[i] += step_[i];
    squares -= step_[i] * cross[i];
  }
  return std::max(squares, 0.0);
}

void Maximisation::operator()(const Expectation& expectation, Mixture& mixture) noexcept {
  double total_count = 0.0;
  double total_squares = 0.0;
  for (std::size_t h = 0; h < mixture.component_count(); ++h) {
    const ComponentSums sums = expectation.component(h);
    const double squares = move_law(sums.triangle, mixture.law(h));
    mixture.weights[h] = sums.count;
    total_count += sums.count;
    total_squares += squares;
    if (noise_ == NoiseModel::per_component && sums.count > 0.0) {
      mixture.noise_variances[h] = std::max(squares / sums.count, floor_);
    }
  }
  for (double& weight : mixture.weights) weight /= total_count;
  if (noise_ == NoiseModel::shared) {
    std::ranges::fill(mixture.noise_variances, std::max(total_squares / total_count, floor_));
  }
}

double variance_floor(const RowBlocks& rows, const EmSettings& settings) noexcept {
  const double floor = settings.variance_floor * rows.response_variance();
  return std::isfinite(floor) ? std::max(floor, least_variance) : least_variance;
}

}  // namespace

EmFit fit_em(const RowTable& rows, const Mixture& start, const EmSettings& settings) {
  return fit_em(RowBlocks(rows), start, settings);
}

EmFit fit_em(const RowBlocks& rows, const Mixture& start, const EmSettings& settings) {
  const std::size_t d = rows.feature_count();
  if (!is_finite(start) || start.feature_count != d || start.component_count() == 0) {
    throw std::invalid_argument("EM needs a finite start with one component or more and the rows' features");
  }
  EmFit fit{start};
  if (!(rows.total_weight() > 0.0)) return fit;
  const double floor = variance_floor(rows, settings);
  if (settings.noise != NoiseModel::known) {
    for (double& variance : fit.mixture.noise_variances) variance = std::max(variance, floor);
  }
  Expectation expectation(start.component_count(), d);
  Maximisation maximise(d, settings.noise, floor);
  Mixture next = fit.mixture;
  double previous = -std::numeric_limits<double>::infinity();
  while (true) {
    expectation.begin(fit.mixture);
    for (std::size_t block = 0; block < rows.block_count(); ++block) expectation.add(rows.block(block));
    fit.mean_log_likelihood = expectation.log_likelihood() / rows.total_weight();
    fit.converged = fit.mean_log_likelihood - previous < settings.stop_below_gain;
    if (fit.converged || fit.iterations >= settings.max_iterations) return fit;
    previous = fit.mean_log_likelihood;
    maximise(expectation, next);
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
