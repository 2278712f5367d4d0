#include "mixstream/likelihood/em.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "mixstream/likelihood/expectation.hpp"
#include "mixstream/likelihood/maximisation.hpp"
#include "mixstream/yield_point.hpp"

namespace mixstream {
namespace {

constexpr double least_variance = 1e-300;

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
    for (std::size_t block = 0; block < rows.block_count(); ++block) {
      if (block % 16 == 0) yield_point();
      expectation.add(rows.block(block));
    }
    fit.mean_log_likelihood = expectation.log_likelihood() / rows.total_weight();
    fit.converged = fit.mean_log_likelihood - previous < settings.stop_below_gain;
    if (fit.converged || fit.iterations >= settings.max_iterations) return fit;
    previous = fit.mean_log_likelihood;
    maximise(expectation.sums(), next);
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
