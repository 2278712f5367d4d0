#include "mixstream/refinement/fit_conditions.hpp"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/linalg/blaze.hpp"
#include "mixstream/linalg/levenberg_marquardt.hpp"
#include "mixstream/linalg/spectrum.hpp"
#include "mixstream/linalg/whitener.hpp"

namespace mixstream {
namespace {

using linalg::Matrix;
using linalg::SquaredResiduals;
using linalg::Vector;
using linalg::Whitener;

/// W (implied - observed) and its derivatives at theta, for fixed weights.
class WeightedDistance {
 public:
  WeightedDistance(const Conditions& conditions, const ConditionFitSettings& settings, const Mixture& shape)
      : conditions_(conditions), settings_(settings), mixture_(shape) {}

  SquaredResiduals operator()(const Whitener& whitener, const std::vector<double>& parameters) {
    from_parameters(parameters, settings_.noise, mixture_);
    conditions_.implied(mixture_, settings_.noise, values_, jacobian_);
    yield_point();
    const std::size_t width = parameters.size() + 1;  // the Jacobian, and the residual as its last column
    const std::size_t rows = conditions_.size(settings_.highest_power);
    joined_.resize(rows * width);
    for (std::size_t i = 0; i < rows; ++i) {
      if (i % 128 == 0) yield_point();
      std::copy_n(jacobian_.values.data() + i * jacobian_.columns, jacobian_.columns,
                  joined_.data() + i * width);
      joined_[i * width + width - 1] = values_[i] - conditions_.observed()[i];
    }
    whitener.apply(joined_, width, whitened_);
    yield_point();
    Matrix products(width, width, 0.0);
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, static_cast<int>(width),
                static_cast<int>(whitener.rank()), 1.0, whitened_.data(), static_cast<int>(width), 0.0,
                products.data(), static_cast<int>(products.spacing()));
    SquaredResiduals result{products(width - 1, width - 1), Vector(width - 1), Matrix(width - 1, width - 1)};
    for (std::size_t i = 0; i + 1 < width; ++i) {
      result.gradient[i] = products(i, width - 1);
      for (std::size_t j = i; j + 1 < width; ++j)
        result.hessian(i, j) = result.hessian(j, i) = products(i, j);
    }
    if (settings_.prior != nullptr) add_prior(parameters, result);
    return result;
  }

  /// (theta - centre)' I (theta - centre), in units of J / n.
  double prior_cost(const std::vector<double>& parameters) const {
    SquaredResiduals alone{0.0, Vector(parameters.size(), 0.0),
                           Matrix(parameters.size(), parameters.size(), 0.0)};
    if (settings_.prior != nullptr) add_prior(parameters, alone);
    return alone.cost;
  }

 private:
  void add_prior(const std::vector<double>& parameters, SquaredResiduals& sum) const {
    const SamplePrior& prior = *settings_.prior;
    const double scale = 1.0 / conditions_.effective_rows();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      double pull = 0.0;
      for (std::size_t j = 0; j < parameters.size(); ++j) {
        pull += prior.information(i, j) * (parameters[j] - prior.centre[j]);
        sum.hessian(i, j) += scale * prior.information(i, j);
      }
      sum.gradient[i] += scale * pull;
      sum.cost += scale * pull * (parameters[i] - prior.centre[i]);
    }
  }

  const Conditions& conditions_;
  const ConditionFitSettings& settings_;
  Mixture mixture_;
  std::vector<double> values_;
  DenseMatrix jacobian_;
  std::vector<double> joined_;
  std::vector<double> whitened_;
};

/// Weights from the whole sample, and J/dof that a right fit shows with weights from half of it: one half's
/// weights against the covariance of the other.
struct FullWeights {
  Whitener whitener;
  double expected_ratio = 1.0;
};

FullWeights full_weights(const Conditions& conditions, const Mixture& mixture, std::size_t leading) {
  DenseMatrix even = conditions.covariance(mixture, {0, 2});
  const DenseMatrix odd = conditions.covariance(mixture, {1, 2});
  yield_point();
  const Whitener from_even(even, leading);
  yield_point();
  const Whitener from_odd(odd, leading);
  yield_point();
  const double ratio = 0.5 * (from_even.mean_variance(from_odd) + from_odd.mean_variance(from_even));
  const double share = conditions.even_share();
  for (std::size_t i = 0; i < even.values.size(); ++i) {
    if (i % 32768 == 0) yield_point();
    even.values[i] = share * even.values[i] + (1.0 - share) * odd.values[i];
  }
  yield_point();
  return {Whitener(even, leading), std::isfinite(ratio) ? std::max(1.0, ratio) : 1.0};
}

Whitener early_weights(const Conditions& conditions, const Mixture& mixture,
                       const ConditionFitSettings& settings) {
  const std::size_t leading = conditions.size(settings.highest_power);
  const std::size_t wanted = std::max(settings.early_rows, 3 * leading);
  const std::size_t stride = std::max<std::size_t>(1, conditions.sample_size() / wanted);
  const DenseMatrix covariance = conditions.covariance(mixture, {0, stride});
  yield_point();
  return Whitener(covariance, leading);
}

bool all_finite(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

/// How many parameters the conditions decide: all of them, or tr(H^-1 H_J) = P - tr(H^-1 I) / n with a prior.
std::size_t parameters_decided(const SquaredResiduals& at, const SamplePrior* prior, double rows) {
  const std::size_t parameters = at.gradient.size();
  if (prior == nullptr) return parameters;
  const DenseMatrix inverse = pseudo_inverse(linalg::to_dense(at.hessian));
  double by_prior = 0.0;
  for (std::size_t i = 0; i < parameters; ++i) {
    for (std::size_t j = 0; j < parameters; ++j) by_prior += inverse(i, j) * prior->information(j, i) / rows;
  }
  const double decided = static_cast<double>(parameters) - by_prior;
  return static_cast<std::size_t>(std::lround(std::clamp(decided, 0.0, static_cast<double>(parameters))));
}

/// J, information and standard errors at a fitted mixture. `at` includes the prior, of which prior_cost is
/// not part of J.
RefinedFit finished(const Conditions& conditions, const ConditionFitSettings& settings, Mixture mixture,
                    const SquaredResiduals& at, double prior_cost, const FullWeights& weights) {
  const std::size_t parameters = at.gradient.size();
  const std::size_t rank = weights.whitener.rank();
  RefinedFit fit;
  fit.mixture = std::move(mixture);
  fit.noise = settings.noise;
  fit.conditions = conditions.set().name(settings.highest_power);
  fit.cubic = settings.highest_power == 3;
  fit.condition_count = rank;
  const std::size_t decided = parameters_decided(at, settings.prior, conditions.effective_rows());
  fit.dof = rank > decided ? rank - decided : 0;
  fit.distance = conditions.effective_rows() * std::max(at.cost - prior_cost, 0.0);
  fit.expected_ratio = weights.expected_ratio;
  const double ratio = fit.dof > 0 ? fit.distance / static_cast<double>(fit.dof) : 1.0;
  fit.information = linalg::to_dense(at.hessian * (conditions.effective_rows() / std::max(1.0, ratio)));
  yield_point();
  const DenseMatrix covariance = pseudo_inverse(fit.information);
  for (std::size_t i = 0; i < parameters; ++i) {
    fit.standard_errors.push_back(std::sqrt(std::max(covariance(i, i), 0.0)));
  }
  if (fit.dof > 0 && fit.distance >= 0.0 && std::isfinite(fit.distance)) {
    fit.p_value =
        boost::math::gamma_q(0.5 * static_cast<double>(fit.dof), 0.5 * fit.distance / fit.usual_ratio());
  }
  return fit;
}

/// How far theta moved, in standard errors: root mean square over the directions of the information.
double movement(const std::vector<double>& from, const std::vector<double>& to, const Matrix& hessian,
                double rows) {
  Vector step(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) step[i] = to[i] - from[i];
  return std::sqrt(std::max(0.0, rows * blaze::dot(step, hessian * step)) / static_cast<double>(from.size()));
}

}  // namespace

Outcome<RefinedFit> fit_conditions(const Conditions& conditions, const Mixture& start,
                                   const ConditionFitSettings& settings) {
  const Refusal broken{Reason::numerical,
                       "the moments implied at this start are not finite; try another start"};
  const Refusal hopeless{Reason::numerical, "J stays far above that of another start"};
  std::vector<double> parameters = to_parameters(start, settings.noise);
  if (!all_finite(parameters)) return broken;
  Mixture mixture = start;
  WeightedDistance distance(conditions, settings, mixture);
  const std::size_t leading = conditions.size(settings.highest_power);
  const double rows = conditions.effective_rows();
  int iterations = 0;
  // Moves theta by Levenberg-Marquardt under fixed weights; false when it leads nowhere.
  double moved = 0.0;
  double start_cost = 0.0;
  SquaredResiduals at;
  const auto descend = [&](const Whitener& whitener, double enough) {
    auto descent = linalg::levenberg_marquardt(
        [&](const std::vector<double>& theta) { return distance(whitener, theta); }, parameters,
        {.max_iterations = settings.max_iterations, .enough = enough / rows});
    iterations += descent.iterations;
    start_cost = descent.start_cost;
    moved = movement(parameters, descent.parameters, descent.at.hessian, rows);
    parameters = std::move(descent.parameters);
    at = std::move(descent.at);
    from_parameters(parameters, settings.noise, mixture);
    return all_finite(parameters) && rows * at.cost <= settings.give_up_above;
  };
  try {
    int rounds = 0;
    if (settings.rounds > 1) {
      if (!descend(early_weights(conditions, mixture, settings), settings.early_gain)) return hopeless;
      ++rounds;
    }
    while (true) {
      const FullWeights weights = full_weights(conditions, mixture, leading);
      if (rounds < settings.rounds) {
        if (!descend(weights.whitener, 0.0)) return hopeless;
        ++rounds;
        if (!(moved < settings.settled_below)) continue;
      } else {
        at = distance(weights.whitener, parameters);  // only J is left to take
      }
      RefinedFit fit = finished(conditions, settings, mixture, at, distance.prior_cost(parameters), weights);
      fit.iterations = iterations;
      fit.start_distance = rows * start_cost;
      if (!std::isfinite(fit.distance) || !all_finite(fit.standard_errors)) return broken;
      return fit;
    }
  } catch (const std::runtime_error&) {  // LAPACK found no eigenvalues: only from numbers that overflowed
    return broken;
  }
}

}  // namespace mixstream
