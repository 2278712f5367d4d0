#include "mixstream/regression/nuclear.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/regression/systems.hpp"

namespace mixstream {
namespace {

constexpr double over_relaxation = 1.6;
constexpr int adapt_every = 10;

class Admm {
 public:
  Admm(const DenseMatrix& gram, std::span<const double> target, const SymmetricShape& shape,
       const NuclearSettings& settings, NuclearWorkspace& workspace, NuclearFit& fit)
      : gram_(gram), target_(target), shape_(shape), settings_(settings), w_(workspace), fit_(fit) {}

  bool start(const NuclearFit* warm);
  bool run();
  bool finish();

 private:
  void plain_solution();
  void solve_smooth();
  bool shrink(double threshold);
  void measure();
  void adapt(int iteration);

  const DenseMatrix& gram_;
  std::span<const double> target_;
  const SymmetricShape& shape_;
  const NuclearSettings& settings_;
  NuclearWorkspace& w_;
  NuclearFit& fit_;
  double rho_ = 0.0;
  double nuclear_norm_ = 0.0;  // of Z
};

/// The least squares solution of least norm, in w_.solution.
void Admm::plain_solution() {
  const double least = rank_cutoff * std::max(w_.system.values.back(), 0.0);
  for (std::size_t i = 0; i < w_.rotated.size(); ++i) {
    const double value = w_.system.values[i];
    w_.rotated[i] = value > least ? w_.rotated_target[i] / value : 0.0;
  }
  multiply_transposed(w_.system.vectors, w_.rotated, w_.solution);
}

bool Admm::start(const NuclearFit* warm) {
  if (!w_.system.decompose(gram_)) return false;
  const std::size_t n = shape_.size();
  for (std::vector<double>* vector : {&w_.rotated_target, &w_.pull, &w_.rotated, &w_.solution}) {
    vector->assign(n, 0.0);
  }
  multiply(w_.system.vectors, target_, w_.rotated_target);
  const auto d = static_cast<std::size_t>(shape_.dimension());
  const bool warmed = warm != nullptr && warm->coefficients.size() == n && warm->step > 0.0;
  if (warmed) {
    w_.solution = warm->coefficients;
  } else {
    plain_solution();
  }
  shape_.unfold(w_.solution, w_.low_rank);
  reshape(w_.multiplier, d, w_.low_rank.columns);
  w_.combined = w_.multiplier;
  w_.smooth = w_.low_rank;
  w_.previous = w_.low_rank;
  rho_ = warmed ? warm->step : 1e-3 * std::max(w_.system.values.back(), 0.0);
  if (!(rho_ > 0.0)) return false;
  if (warmed && warm->dual.size() == w_.multiplier.values.size()) {
    for (std::size_t i = 0; i < warm->dual.size(); ++i) w_.multiplier.values[i] = warm->dual[i] / rho_;
  }
  return true;
}

/// m = (Sigma + rho)^-1 (target + rho fold(Z - U)), in the eigenbasis of Sigma.
void Admm::solve_smooth() {
  for (std::size_t i = 0; i < w_.combined.values.size(); ++i) {
    w_.combined.values[i] = w_.low_rank.values[i] - w_.multiplier.values[i];
  }
  shape_.fold(w_.combined, w_.pull);
  multiply(w_.system.vectors, w_.pull, w_.rotated);
  for (std::size_t i = 0; i < w_.rotated.size(); ++i) {
    w_.rotated[i] =
        (w_.rotated_target[i] + rho_ * w_.rotated[i]) / (std::max(w_.system.values[i], 0.0) + rho_);
  }
  multiply_transposed(w_.system.vectors, w_.rotated, w_.solution);
  shape_.unfold(w_.solution, w_.smooth);
}

/// Z = argmin threshold |Z|_* + 1/2 |Z - C|^2, C = w_.combined, by the d x d eigenproblem of C C'.
bool Admm::shrink(double threshold) {
  const std::size_t d = w_.combined.rows;
  const std::size_t columns = w_.combined.columns;
  reshape(w_.gram, d, d);
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      w_.gram(i, j) = w_.gram(j, i) = dot({w_.combined.values.data() + i * columns, columns},
                                          {w_.combined.values.data() + j * columns, columns});
    }
  }
  if (!w_.small.decompose(w_.gram)) return false;
  nuclear_norm_ = 0.0;
  reshape(w_.gram, d, d);  // E diag(1 - threshold / sigma)_+ E'
  for (std::size_t s = 0; s < d; ++s) {
    const double singular = std::sqrt(std::max(w_.small.values[s], 0.0));
    if (singular <= threshold) continue;
    nuclear_norm_ += singular - threshold;
    const double factor = 1.0 - threshold / singular;
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < d; ++j) {
        w_.gram(i, j) += factor * w_.small.vectors(s, i) * w_.small.vectors(s, j);
      }
    }
  }
  multiply(w_.gram, w_.combined, w_.low_rank);
  return true;
}

void Admm::measure() {
  double gap = 0.0;
  double change = 0.0;
  for (std::size_t i = 0; i < w_.smooth.values.size(); ++i) {
    gap += std::pow(w_.smooth.values[i] - w_.low_rank.values[i], 2);
    change += std::pow(w_.low_rank.values[i] - w_.previous.values[i], 2);
  }
  const double size = std::max({norm(w_.low_rank.values), norm(w_.smooth.values), 1e-300});
  const double force = std::max(norm(w_.multiplier.values), 1e-300);  // |D| / rho
  fit_.primal_residual = std::sqrt(gap) / size;
  // At rounding level Z stands still, however small the penalty and with it the dual.
  fit_.dual_residual = std::sqrt(change) > 1e-14 * size ? std::sqrt(change) / force : 0.0;
}

/// Balances the residuals. In the last quarter rho rests, so that convergence is certain.
void Admm::adapt(int iteration) {
  if (iteration % adapt_every != adapt_every - 1 || 4 * iteration > 3 * settings_.iterations) return;
  const double ratio = fit_.primal_residual / std::max(fit_.dual_residual, 1e-300);
  if (ratio < 3.0 && ratio > 1.0 / 3.0) return;
  const double factor = std::clamp(std::sqrt(ratio), 0.2, 5.0);
  rho_ *= factor;
  for (double& value : w_.multiplier.values) value /= factor;
}

bool Admm::run() {
  fit_.converged = false;
  for (fit_.iterations = 0; fit_.iterations < settings_.iterations && !fit_.converged; ++fit_.iterations) {
    solve_smooth();
    w_.previous = w_.low_rank;
    for (std::size_t i = 0; i < w_.combined.values.size(); ++i) {
      const double relaxed =
          over_relaxation * w_.smooth.values[i] + (1.0 - over_relaxation) * w_.previous.values[i];
      w_.combined.values[i] = relaxed + w_.multiplier.values[i];
    }
    if (!shrink(settings_.penalty / rho_)) return false;
    for (std::size_t i = 0; i < w_.combined.values.size(); ++i) {
      w_.multiplier.values[i] = w_.combined.values[i] - w_.low_rank.values[i];
    }
    measure();
    fit_.converged = std::max(fit_.primal_residual, fit_.dual_residual) < settings_.tolerance;
    if (!fit_.converged) adapt(fit_.iterations);
  }
  return true;
}

bool Admm::finish() {
  fit_.penalty = settings_.penalty;
  fit_.step = rho_;
  fit_.coefficients.resize(shape_.size());
  shape_.fold(w_.low_rank, fit_.coefficients);
  fit_.dual = w_.multiplier.values;
  for (double& value : fit_.dual) value *= rho_;
  shape_.unfold(fit_.coefficients, w_.combined);
  if (!shrink(0.0)) return false;  // for the singular values only
  double nuclear = 0.0;
  for (const double value : w_.small.values) nuclear += std::sqrt(std::max(value, 0.0));
  multiply(gram_, fit_.coefficients, w_.pull);
  fit_.objective =
      settings_.penalty * nuclear + 0.5 * dot(w_.pull, fit_.coefficients) - dot(target_, fit_.coefficients);
  return std::ranges::all_of(fit_.coefficients, [](double value) { return std::isfinite(value); });
}

}  // namespace

bool nuclear_regression(const DenseMatrix& gram, std::span<const double> target, const SymmetricShape& shape,
                        const NuclearSettings& settings, const NuclearFit* warm, NuclearWorkspace& workspace,
                        NuclearFit& fit) {
  Admm admm(gram, target, shape, settings, workspace, fit);
  return admm.start(warm) && admm.run() && admm.finish();
}

}  // namespace mixstream
