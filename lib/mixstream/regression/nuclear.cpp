#include "mixstream/regression/nuclear.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/linalg/products.hpp"
#include "mixstream/regression/systems.hpp"

namespace mixstream {
namespace {

constexpr double over_relaxation = 1.6;
constexpr int adapt_every = 10;
constexpr int most_rounds = 200;        // of sigma and M in turns
constexpr double penalty_share = 1e-7;  // of the penalty, that a gap between m and Z may be worth
constexpr double least_gap = 1e-13;
constexpr double sigma_tolerance = 1e-9;  // relative, between two rounds

/// Entries of the d x d^(p-1) unfolding.
std::size_t unfolded_size(const SymmetricShape& shape) {
  std::size_t size = 1;
  for (int p = 0; p < shape.degree(); ++p) size *= static_cast<std::size_t>(shape.dimension());
  return size;
}

class Admm {
 public:
  Admm(const DenseMatrix& gram, std::span<const double> target, const SymmetricShape& shape,
       const NuclearSettings& settings, NuclearWorkspace& workspace, NuclearFit& fit)
      : gram_(gram), target_(target), shape_(shape), settings_(settings), w_(workspace), fit_(fit) {}

  bool start(const NuclearStart* warm);
  bool run();       // the squared problem with penalty_
  bool run_root();  // the same in turns with sigma
  bool finish();

 private:
  void plain_solution();
  void moved_solution(const NuclearStart& warm);
  void solve_smooth();
  bool shrink(double threshold);
  bool shrink_semidefinite(double threshold);
  void add_direction(double factor, std::size_t at);
  double mean_square();
  void measure();
  double gap_allowed() const;
  void adapt(int iteration);

  const DenseMatrix& gram_;
  std::span<const double> target_;
  const SymmetricShape& shape_;
  const NuclearSettings& settings_;
  NuclearWorkspace& w_;
  NuclearFit& fit_;
  double rho_ = 0.0;
  double penalty_ = 0.0;       // of the squared problem
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

/// Where the last optimum has moved to as the moments changed, if its dual stays: Sigma m = target - fold(D).
/// What Sigma does not see stays as it was. In w_.solution.
void Admm::moved_solution(const NuclearStart& warm) {
  const auto d = static_cast<std::size_t>(shape_.dimension());
  reshape(w_.combined, d, warm.dual.size() / d);
  w_.combined.values = warm.dual;
  shape_.fold(w_.combined, w_.pull);
  std::vector<double> pulled(w_.pull.size());
  multiply(w_.system.vectors, w_.pull, pulled);
  multiply(w_.system.vectors, warm.coefficients, w_.rotated);
  const double least = rank_cutoff * std::max(w_.system.values.back(), 0.0);
  for (std::size_t i = 0; i < w_.rotated.size(); ++i) {
    const double value = w_.system.values[i];
    if (value > least) w_.rotated[i] = (w_.rotated_target[i] - pulled[i]) / value;
  }
  multiply_transposed(w_.system.vectors, w_.rotated, w_.solution);
}

bool Admm::start(const NuclearStart* warm) {
  if (!w_.system.decompose(gram_)) return false;
  fit_.iterations = 0;
  fit_.scale = 1.0;
  penalty_ = settings_.penalty;
  const std::size_t n = shape_.size();
  for (std::vector<double>* vector : {&w_.rotated_target, &w_.pull, &w_.rotated, &w_.solution}) {
    vector->assign(n, 0.0);
  }
  multiply(w_.system.vectors, target_, w_.rotated_target);
  const auto d = static_cast<std::size_t>(shape_.dimension());
  const bool warmed = warm != nullptr && warm->coefficients.size() == n && warm->step > 0.0;
  const bool with_dual = warmed && warm->dual.size() == unfolded_size(shape_);
  if (with_dual)
    moved_solution(*warm);
  else
    plain_solution();
  shape_.unfold(w_.solution, w_.low_rank);
  reshape(w_.multiplier, d, w_.low_rank.columns);
  w_.combined = w_.multiplier;
  w_.smooth = w_.low_rank;
  w_.previous = w_.low_rank;
  rho_ = warmed ? warm->step : 1e-3 * std::max(w_.system.values.back(), 0.0);
  if (!(rho_ > 0.0)) return false;
  if (with_dual) {
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
    add_direction(1.0 - threshold / singular, s);
  }
  multiply(w_.gram, w_.combined, w_.low_rank);
  return true;
}

/// w_.gram += factor e e', e the eigenvector `at`.
void Admm::add_direction(double factor, std::size_t at) {
  for (std::size_t i = 0; i < w_.gram.rows; ++i) {
    for (std::size_t j = 0; j < w_.gram.rows; ++j)
      w_.gram(i, j) += factor * w_.small.vectors(at, i) * w_.small.vectors(at, j);
  }
}

/// The same over Z >= 0, for a symmetric C: eigenvalues less the threshold, the positive ones.
bool Admm::shrink_semidefinite(double threshold) {
  if (!w_.small.decompose(w_.combined)) return false;
  nuclear_norm_ = 0.0;
  reshape(w_.gram, w_.combined.rows, w_.combined.rows);
  for (std::size_t s = 0; s < w_.small.values.size(); ++s) {
    const double left = w_.small.values[s] - threshold;
    if (left <= 0.0) continue;
    nuclear_norm_ += left;
    add_direction(left, s);
  }
  w_.low_rank = w_.gram;
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

/// The relative primal residual that is small enough. That of a root is to be small beside the penalty, too:
/// between m and Z, Sigma m - target changes by at most the largest eigenvalue times their distance.
double Admm::gap_allowed() const {
  if (!settings_.root) return settings_.tolerance;
  const double size = std::max({norm(w_.low_rank.values), norm(w_.smooth.values), 1e-300});
  const double beside_penalty = penalty_share * penalty_ / (w_.system.values.back() * size);
  return std::clamp(beside_penalty, least_gap, settings_.tolerance);
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
  for (int iteration = 0; iteration < settings_.iterations && !fit_.converged; ++iteration) {
    ++fit_.iterations;
    solve_smooth();
    w_.previous = w_.low_rank;
    for (std::size_t i = 0; i < w_.combined.values.size(); ++i) {
      const double relaxed =
          over_relaxation * w_.smooth.values[i] + (1.0 - over_relaxation) * w_.previous.values[i];
      w_.combined.values[i] = relaxed + w_.multiplier.values[i];
    }
    const double threshold = penalty_ / rho_;
    if (!(settings_.semidefinite ? shrink_semidefinite(threshold) : shrink(threshold))) return false;
    for (std::size_t i = 0; i < w_.combined.values.size(); ++i) {
      w_.multiplier.values[i] = w_.combined.values[i] - w_.low_rank.values[i];
    }
    measure();
    fit_.converged = fit_.dual_residual < settings_.tolerance && fit_.primal_residual < gap_allowed();
    if (!fit_.converged) adapt(iteration);
  }
  return true;
}

/// q(m) at Z, never below what rounding leaves of E[t^2].
double Admm::mean_square() {
  const double whole = settings_.root->response_square;
  shape_.fold(w_.low_rank, w_.solution);
  multiply(gram_, w_.solution, w_.pull);
  const double square = whole + dot(w_.pull, w_.solution) - 2.0 * dot(target_, w_.solution);
  return std::max({square, 1e-15 * whole, 1e-300});
}

bool Admm::run_root() {
  const double sharpness = 2.0 * std::sqrt(settings_.root->rows) * settings_.penalty;
  double sigma = std::sqrt(mean_square());
  bool settled = false;
  for (int round = 0; round < most_rounds && !settled; ++round) {
    penalty_ = sharpness * sigma;
    if (!run()) return false;
    const double next = std::sqrt(mean_square());
    settled = std::abs(next - sigma) <= sigma_tolerance * sigma;
    sigma = next;
  }
  fit_.converged = fit_.converged && settled;
  fit_.scale = 2.0 * std::sqrt(settings_.root->rows) * sigma;
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
  const double half_square = 0.5 * dot(w_.pull, fit_.coefficients) - dot(target_, fit_.coefficients);
  fit_.objective = settings_.penalty * nuclear + half_square;
  if (settings_.root) {
    const double square = std::max(settings_.root->response_square + 2.0 * half_square, 0.0);
    fit_.objective = settings_.penalty * nuclear + 0.5 * std::sqrt(square / settings_.root->rows);
  }
  return std::ranges::all_of(fit_.coefficients, [](double value) { return std::isfinite(value); });
}

}  // namespace

bool nuclear_regression(const DenseMatrix& gram, std::span<const double> target, const SymmetricShape& shape,
                        const NuclearSettings& settings, const NuclearStart* warm,
                        NuclearWorkspace& workspace, NuclearFit& fit) {
  Admm admm(gram, target, shape, settings, workspace, fit);
  return admm.start(warm) && (settings.root ? admm.run_root() : admm.run()) && admm.finish();
}

}  // namespace mixstream
