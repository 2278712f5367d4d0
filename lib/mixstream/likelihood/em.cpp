#include "mixstream/likelihood/em.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/likelihood/expectation.hpp"
#include "mixstream/likelihood/maximisation.hpp"
#include "mixstream/likelihood/parameters.hpp"

namespace mixstream {
namespace {

constexpr double least_variance = 1e-300;

double variance_floor(const RowBlocks& rows, const EmSettings& settings) noexcept {
  const double floor = settings.variance_floor * rows.response_variance();
  return std::isfinite(floor) ? std::max(floor, least_variance) : least_variance;
}

constexpr double longest_extrapolation = 100.0;  // iterations at once

/// The two steps on some rows.
class EmSteps {
 public:
  EmSteps(const RowBlocks& rows, const Mixture& start, const EmSettings& settings, double floor)
      : rows_(rows),
        expectation_(start.component_count(), rows.feature_count()),
        maximise_(rows.feature_count(), settings.noise, floor) {}

  /// The mean log-likelihood of the mixture; its sums are kept.
  double expect(const Mixture& mixture) {
    expectation_.begin(mixture);
    for (std::size_t block = 0; block < rows_.block_count(); ++block) {
      if (block % 16 == 0) yield_point();
      expectation_.add(rows_.block(block));
    }
    return expectation_.log_likelihood() / rows_.total_weight();
  }

  /// Makes the mixture last expected into the one that those sums ask for.
  void maximise(Mixture& mixture) { maximise_(expectation_.sums(), mixture); }

 private:
  const RowBlocks& rows_;
  Expectation expectation_;
  Maximisation maximise_;
};

void climb(EmSteps& steps, const EmSettings& settings, EmFit& fit) {
  Mixture next = fit.mixture;
  double previous = -std::numeric_limits<double>::infinity();
  while (true) {
    fit.mean_log_likelihood = steps.expect(fit.mixture);
    fit.converged = fit.mean_log_likelihood - previous < settings.stop_below_gain;
    if (fit.converged || fit.iterations >= settings.max_iterations) return;
    previous = fit.mean_log_likelihood;
    steps.maximise(next);
    if (!is_finite(next)) return;  // sums overflowed: the last finite mixture is the answer
    fit.mixture = next;
    ++fit.iterations;
  }
}

/// Where theta_0 -> theta_1 -> theta_2 leads in a iterations: theta_0 + 2 a r + a^2 v, r = theta_1 - theta_0,
/// v = theta_2 - 2 theta_1 + theta_0, a = |r| / |v| (SQUAREM, Varadhan and Roland 2008). False where that is
/// no further than theta_2.
bool extrapolate(const Mixture& zeroth, const Mixture& first, const Mixture& second, NoiseModel noise,
                 Mixture& further) {
  std::vector<double> at = to_parameters(zeroth, noise);
  const std::vector<double> one = to_parameters(first, noise);
  const std::vector<double> two = to_parameters(second, noise);
  double step = 0.0;  // |r|^2
  double bend = 0.0;  // |v|^2
  for (std::size_t i = 0; i < at.size(); ++i) {
    step += std::pow(one[i] - at[i], 2.0);
    bend += std::pow(two[i] - 2.0 * one[i] + at[i], 2.0);
  }
  const double length = std::min(std::sqrt(step / bend), longest_extrapolation);
  if (!(length > 1.0)) return false;
  for (std::size_t i = 0; i < at.size(); ++i)
    at[i] += 2.0 * length * (one[i] - at[i]) + length * length * (two[i] - 2.0 * one[i] + at[i]);
  further = second;
  from_parameters(at, noise, further);
  return is_finite(further);
}

/// Two iterations, then as far along as the likelihood does not fall.
void climb_extrapolated(EmSteps& steps, const EmSettings& settings, EmFit& fit) {
  double previous = steps.expect(fit.mixture);
  fit.mean_log_likelihood = previous;
  Mixture further;
  while (true) {
    const Mixture zeroth = fit.mixture;
    Mixture next = zeroth;
    steps.maximise(next);
    if (!is_finite(next)) return;
    fit.mixture = next;
    fit.mean_log_likelihood = steps.expect(next);
    ++fit.iterations;
    fit.converged = fit.mean_log_likelihood - previous < settings.stop_below_gain;
    if (fit.converged || fit.iterations >= settings.max_iterations) return;
    steps.maximise(next);
    if (!is_finite(next)) return;
    if (extrapolate(zeroth, fit.mixture, next, settings.noise, further)) {
      previous = steps.expect(further);
      ++fit.iterations;
      if (previous > fit.mean_log_likelihood) {
        fit.mixture = further;
        continue;
      }
    }
    previous = steps.expect(next);
    ++fit.iterations;
    fit.mixture = next;
  }
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
  EmSteps steps(rows, start, settings, floor);
  settings.extrapolated ? climb_extrapolated(steps, settings, fit) : climb(steps, settings, fit);
  return fit;
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
