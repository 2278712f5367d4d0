// Levenberg-Marquardt on |r(theta)|^2. Includes Blaze: for .cpp files of this folder only.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/refinement/numerics.hpp"

namespace mixstream::numerics {

/// |r|^2, J'r and J'J at one theta, J = dr/dtheta.
struct LeastSquares {
  double cost = 0.0;
  Vector gradient;
  Matrix hessian;
};

struct Descent {
  std::vector<double> parameters;
  LeastSquares at;  // the last accepted point
  double start_cost = 0.0;
  int iterations = 0;
};

/// (H + damping diag H)^-1 g into step; false when that matrix is not positive definite.
bool damped_step(const LeastSquares& at, double damping, Vector& step);

/// Minimises |r|^2; evaluate(theta) gives a LeastSquares. Stops when a step gains less than 1e-9 of the cost,
/// or less than `enough`.
template <class Evaluate>
Descent levenberg_marquardt(Evaluate evaluate, std::vector<double> parameters, int max_iterations,
                            double enough = 0.0) {
  constexpr int attempts = 12;
  double damping = 1e-3;
  Descent now{std::move(parameters), {}};
  now.at = evaluate(now.parameters);
  now.start_cost = now.at.cost;
  Vector step;
  std::vector<double> candidate;
  while (now.iterations < max_iterations) {
    LeastSquares trial;
    trial.cost = std::numeric_limits<double>::infinity();
    for (int attempt = 0; attempt < attempts; ++attempt, damping *= 5.0) {
      yield_point();
      if (!damped_step(now.at, damping, step)) continue;
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
    if (gain < std::max(1e-9 * now.at.cost, enough)) break;
  }
  return now;
}

}  // namespace mixstream::numerics
