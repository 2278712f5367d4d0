#include "mixstream/regression/rank.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/core/random.hpp"
#include "mixstream/linalg/least_squares.hpp"
#include "mixstream/linalg/levenberg_marquardt.hpp"
#include "mixstream/linalg/products.hpp"

namespace mixstream {
namespace {

/// One problem: the system in root form, and what a step needs.
class RankProblem {
 public:
  RankProblem(const PowerSystem& system, const FirstMoment& first, std::size_t rank,
              const RankSettings& settings, RankWorkspace& workspace)
      : system_(system),
        first_(first),
        known_(settings.noise_variance),
        d_(first.coefficients.size()),
        r_(rank),
        shape_(static_cast<int>(d_), 2),
        w_(workspace) {}

  bool prepare();
  bool start_from_regression(double noise_share, std::vector<double>& theta);
  void start_at_random(Random& random, std::vector<double>& theta);
  bool whiten();

  /// Runs Levenberg-Marquardt on theta = (V row-major, root of s2).
  linalg::Descent minimise(const std::vector<double>& theta, int most);
  std::optional<double> variance_error(const std::vector<double>& theta, double rows);

  /// What no V and s2 can explain of e^2: E(e^2 - its projection)^2.
  double spread() const noexcept {
    return std::max(system_.response_square - dot(w_.target, w_.target), 0.0);
  }
  std::size_t equations() const noexcept { return w_.root.rows; }
  /// Without the rotations of V's columns, which change nothing.
  std::size_t free_unknowns() const noexcept { return unknowns() - (r_ > 0 ? r_ * (r_ - 1) / 2 : 0); }
  bool noise_unknown() const noexcept { return !known_; }
  double noise_variance(const std::vector<double>& theta) const noexcept {
    return known_ ? *known_ : theta[d_ * r_] * theta[d_ * r_];
  }

 private:
  std::size_t unknowns() const noexcept { return d_ * r_ + (known_ ? 0 : 1); }
  linalg::SquaredResiduals evaluate(const std::vector<double>& theta, double ridge);

  const PowerSystem& system_;
  const FirstMoment& first_;
  std::optional<double> known_;
  std::size_t d_;
  std::size_t r_;
  SymmetricShape shape_;
  RankWorkspace& w_;
  double ridge_ = 0.0;        // weight of |V|^2 where there are more unknowns than equations
  SymmetricEigen whitening_;  // of Sigma_1
  DenseMatrix factor_;
  DenseMatrix products_;
};

// psi = phi_2, with a 1 behind it where s2 is unknown; A = E[psi psi'] = R'R; the least squares problem
// min E(e^2 - psi'theta)^2 is |R theta - R^-T b|^2 + constant, with b = E[e^2 psi] (minus s2 E[phi_2] if
// known).
bool RankProblem::prepare() {
  const std::size_t n = shape_.size();
  const std::size_t total = n + (known_ ? 0 : 1);
  DenseMatrix gram{total, total, std::vector<double>(total * total)};
  std::vector<double> target(total);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) gram(i, j) = system_.gram(i, j);
    target[i] = system_.cross[i] - (known_ ? *known_ * system_.mean[i] : 0.0);
    if (!known_) gram(i, n) = gram(n, i) = system_.mean[i];
  }
  if (!known_) {
    gram(n, n) = 1.0;
    target[n] = first_.residual_square;
  }
  if (!w_.system.decompose(gram, rank_cutoff)) return false;
  const ScaledEigen& eigen = w_.system;
  reshape(w_.root, eigen.rank(), total);
  w_.target.assign(eigen.rank(), 0.0);
  for (std::size_t t = 0; t < eigen.rank(); ++t) {
    const std::size_t at = eigen.null_count + t;
    const double root = std::sqrt(eigen.eigen.values[at]);
    for (std::size_t i = 0; i < total; ++i) {
      w_.root(t, i) = root * eigen.eigen.vectors(at, i) * eigen.scale[i];
      w_.target[t] += eigen.eigen.vectors(at, i) * target[i] / (eigen.scale[i] * root);
    }
  }
  if (free_unknowns() > eigen.rank()) ridge_ = 1e-4 * first_.residual_square;  // a small answer of the many
  // d(R cvec(V V'))_t / dV_aq = sum_j stacked(t a, j) V_jq
  reshape(w_.stacked, eigen.rank() * d_, d_);
  for (std::size_t t = 0; t < eigen.rank(); ++t) {
    for (std::size_t a = 0; a < d_; ++a) {
      for (std::size_t j = 0; j < d_; ++j) {
        const std::size_t at = shape_.position(a * d_ + j);
        w_.stacked(t * d_ + a, j) = 2.0 * w_.root(t, at) / shape_.root_multiplicity()[at];
      }
    }
  }
  return true;
}

bool RankProblem::whiten() {
  return whitening_.decompose(first_.gram);
}

/// V from the leading eigenvectors, in the metric of Sigma_1, of the plain regression's matrix.
bool RankProblem::start_from_regression(double noise_share, std::vector<double>& theta) {
  const std::size_t n = shape_.size();
  const double variance = known_ ? *known_ : noise_share * first_.residual_square;
  std::vector<double> target(n + (known_ ? 0 : 1));
  std::vector<double> solution(target.size());
  for (std::size_t i = 0; i < n; ++i) target[i] = system_.cross[i] - variance * system_.mean[i];
  if (!known_) target[n] = first_.residual_square - variance;
  w_.system.solve(target, solution, w_.scratch);
  const double extra = known_ ? 0.0 : solution[n];
  solution.resize(n);
  DenseMatrix covariance;
  shape_.unfold(solution, covariance);
  // S^1/2 C S^1/2 with S = Sigma_1 in its eigenbasis: E' C E scaled by roots on both sides
  DenseMatrix half;
  DenseMatrix rotated;
  multiply(whitening_.vectors, covariance, half);
  for (std::size_t i = 0; i < d_; ++i) {
    for (std::size_t j = 0; j < d_; ++j) half(i, j) *= std::sqrt(std::max(whitening_.values[i], 0.0));
  }
  DenseMatrix transposed{d_, d_, std::vector<double>(d_ * d_)};
  for (std::size_t i = 0; i < d_; ++i) {
    for (std::size_t j = 0; j < d_; ++j) {
      transposed(j, i) = whitening_.vectors(i, j) * std::sqrt(std::max(whitening_.values[i], 0.0));
    }
  }
  multiply(half, transposed, rotated);
  SymmetricEigen leading;
  if (!leading.decompose(rotated)) return false;
  const double least = 1e-3 * first_.residual_square / static_cast<double>(d_);
  for (std::size_t q = 0; q < r_; ++q) {
    const std::size_t at = d_ - 1 - q;
    const double size = std::sqrt(std::max(leading.values[at], least));
    for (std::size_t a = 0; a < d_; ++a) {
      double sum = 0.0;
      for (std::size_t i = 0; i < d_; ++i) {
        if (whitening_.values[i] <= 0.0) continue;
        sum += whitening_.vectors(i, a) * leading.vectors(at, i) / std::sqrt(whitening_.values[i]);
      }
      theta[a * r_ + q] = size * sum;
    }
  }
  if (!known_)
    theta[d_ * r_] = std::sqrt(std::clamp(variance + extra, 0.01 * variance, first_.residual_square));
  return true;
}

void RankProblem::start_at_random(Random& random, std::vector<double>& theta) {
  const double size = std::sqrt(first_.residual_square / static_cast<double>(d_));
  std::fill(theta.begin(), theta.end(), 0.0);
  for (std::size_t i = 0; i < d_; ++i) {
    if (whitening_.values[i] <= 0.0) continue;
    for (std::size_t q = 0; q < r_; ++q) {
      const double draw = size * random.normal() / std::sqrt(whitening_.values[i]);
      for (std::size_t a = 0; a < d_; ++a) theta[a * r_ + q] += draw * whitening_.vectors(i, a);
    }
  }
  if (!known_) theta[d_ * r_] = std::sqrt(first_.residual_square * random.uniform(0.01, 0.9));
}

// R cvec(V V') is quadratic in V, so it is half its derivative applied to V.
linalg::SquaredResiduals RankProblem::evaluate(const std::vector<double>& theta, double ridge) {
  const std::size_t size = d_ * r_;
  factor_ = {d_, r_, {theta.begin(), theta.begin() + static_cast<std::ptrdiff_t>(size)}};
  multiply(w_.stacked, factor_, products_);
  std::vector<double> residual(equations());
  reshape(w_.jacobian, equations(), unknowns());
  const std::size_t last = w_.root.columns - 1;
  for (std::size_t t = 0; t < equations(); ++t) {
    const std::span<const double> row(products_.values.data() + t * size, size);
    residual[t] = 0.5 * dot(row, factor_.values) - w_.target[t];
    std::ranges::copy(row, w_.jacobian.values.begin() + static_cast<std::ptrdiff_t>(t * unknowns()));
    if (known_) continue;
    residual[t] += w_.root(t, last) * theta[size] * theta[size];
    w_.jacobian(t, size) = 2.0 * theta[size] * w_.root(t, last);
  }
  DenseMatrix hessian;
  multiply_transposed(w_.jacobian, w_.jacobian, hessian);
  linalg::SquaredResiduals result{dot(residual, residual) + ridge * dot(factor_.values, factor_.values),
                                  linalg::Vector(unknowns()), linalg::to_blaze(hessian)};
  multiply_transposed(w_.jacobian, residual, {result.gradient.data(), unknowns()});
  for (std::size_t i = 0; i < size; ++i) {
    result.hessian(i, i) += ridge;
    result.gradient[i] += ridge * theta[i];
  }
  return result;
}

linalg::Descent RankProblem::minimise(const std::vector<double>& theta, int most) {
  return linalg::levenberg_marquardt([&](const std::vector<double>& at) { return evaluate(at, ridge_); },
                                     theta, {.max_iterations = most, .relative_gain = 1e-10, .ridge = 1e-14});
}

// The residual of e^2 is taken to vary as much at every x (its true variance needs eighth moments): then the
// covariance of theta is that variance times (J'J)^-1 / n.
std::optional<double> RankProblem::variance_error(const std::vector<double>& theta, double rows) {
  if (known_ || !(rows > 0.0)) return std::nullopt;
  const linalg::SquaredResiduals at = evaluate(theta, 0.0);
  std::vector<double> unit(unknowns(), 0.0);
  std::vector<double> column(unknowns());
  unit.back() = 1.0;
  if (!least_squares(linalg::to_dense(at.hessian), unit, column)) return std::nullopt;
  const double derivative = 2.0 * theta.back();  // s2 = root^2
  const double variance = derivative * derivative * column.back() * (spread() + at.cost) / rows;
  if (!std::isfinite(variance) || variance <= 0.0) return std::nullopt;
  return std::sqrt(variance);
}

/// The factor V and s2 of theta, with what the caller needs to judge them.
RankFit fit_of(const RankProblem& problem, const std::vector<double>& theta, std::size_t d, std::size_t rank,
               double distance, int iterations) {
  RankFit fit;
  fit.factor = {d, rank, {theta.begin(), theta.begin() + static_cast<std::ptrdiff_t>(d * rank)}};
  fit.noise_variance = problem.noise_variance(theta);
  fit.distance = distance;
  fit.iterations = iterations;
  fit.equations = problem.equations();
  fit.unknowns = problem.free_unknowns();
  return fit;
}

}  // namespace

bool fit_rank(const PowerSystem& system, const FirstMoment& first, std::size_t rank,
              const RankSettings& settings, const RankFit* warm, RankWorkspace& workspace,
              std::vector<RankFit>& fits) {
  const std::size_t d = first.coefficients.size();
  fits.clear();
  RankProblem problem(system, first, rank, settings, workspace);
  if (!problem.prepare() || !problem.whiten()) return false;
  Random random(settings.seed);
  std::vector<double> theta(d * rank + (problem.noise_unknown() ? 1 : 0));
  const bool warmed = warm != nullptr && warm->factor.values.size() == d * rank;
  const int starts = warmed ? std::min(2, settings.starts) : settings.starts;
  for (int start = 0; start < starts; ++start) {
    const int cold = warmed ? start - 1 : start;
    if (cold < 0) {
      std::ranges::copy(warm->factor.values, theta.begin());
      if (problem.noise_unknown()) theta.back() = std::sqrt(std::max(warm->noise_variance, 0.0));
    } else if (cold == 0 || (cold == 1 && problem.noise_unknown())) {
      if (!problem.start_from_regression(cold == 0 ? 0.1 : 0.5, theta)) return false;
    } else {
      problem.start_at_random(random, theta);
    }
    const linalg::Descent end = problem.minimise(theta, settings.iterations);
    if (!std::isfinite(end.at.cost)) continue;
    fits.push_back(fit_of(problem, end.parameters, d, rank, end.at.cost, end.iterations));
    fits.back().noise_variance_error = problem.variance_error(end.parameters, settings.rows);
    fits.back().spread = problem.spread();
  }
  std::ranges::stable_sort(fits, {}, &RankFit::distance);
  return !fits.empty();
}

}  // namespace mixstream
