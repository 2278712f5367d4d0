// Levenberg-Marquardt on |r(theta)|^2. Includes Blaze: for .cpp files only.
#pragma once

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/linalg/blaze.hpp"

namespace mixstream::linalg {

/// |r|^2, J'r and J'J at one theta, J = dr/dtheta.
struct SquaredResiduals {
  double cost = 0.0;
  Vector gradient;
  Matrix hessian;
};

struct DescentSettings {
  int max_iterations = 100;
  double relative_gain = 1e-9;  ///< a step that gains less of the cost is the last
  double enough = 0.0;          ///< or less than this
  double ridge = 0.0;           ///< of the largest of diag H, for directions in which r cannot change
};

struct Descent {
  std::vector<double> parameters;
  SquaredResiduals at;  ///< the last accepted point
  double start_cost = 0.0;
  int iterations = 0;
};

/// (H + damping diag H)^-1 g into step; false when that matrix is not positive definite. Allocates.
bool damped_step(const SquaredResiduals& at, double damping, double ridge, Vector& step);

/// Minimises |r|^2; evaluate(theta) gives SquaredResiduals. Without parameters it only evaluates.
template <class Evaluate>
Descent levenberg_marquardt(Evaluate evaluate, std::vector<double> parameters,
                            const DescentSettings& settings) {
  constexpr int attempts = 12;
  double damping = 1e-3;
  Descent now{std::move(parameters), {}};
  now.at = evaluate(now.parameters);
  now.start_cost = now.at.cost;
  Vector step;
  std::vector<double> candidate;
  while (!now.parameters.empty() && now.iterations < settings.max_iterations) {
    SquaredResiduals trial;
    trial.cost = std::numeric_limits<double>::infinity();
    for (int attempt = 0; attempt < attempts; ++attempt, damping *= 5.0) {
      yield_point();
      if (!damped_step(now.at, damping, settings.ridge, step)) continue;
      candidate = now.parameters;
      for (std::size_t i = 0; i < candidate.size(); ++i) candidate[i] -= step[i];
      trial = evaluate(candidate);
      if (trial.cost < now.at.cost) break;  // false for NaN
    }
    if (!(trial.cost < now.at.cost)) break;
    const double gain = now.at.cost - trial.cost;
    now.parameters = candidate;
    now.at = std::move(trial);
    ++now.iterations;
    damping = std::max(damping / 5.0, 1e-12);
    if (gain < std::max(settings.relative_gain * now.at.cost, settings.enough)) break;
  }
  return now;
}

}  // namespace mixstream::linalg
