#include "experiments/authors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "mixstream/core/random.hpp"
#include "mixstream/linalg/products.hpp"
#include "mixstream/linalg/spectrum.hpp"
#include "mixstream/regression/symmetric.hpp"
#include "mixstream/regression/systems.hpp"
#include "mixstream/tensor/whitening.hpp"

namespace experiments {
namespace {

using namespace mixstream;

// Of their programs.
constexpr int restarts = 10;
constexpr int iterations = 1000;
constexpr double close = 1e-10;
// Of the solver here.
constexpr int most_iterations = 4000;
constexpr int most_rounds = 60;
constexpr double tolerance = 1e-8;

std::size_t dimension_of(const SpectralFit& fit) {
  return fit.mixture.feature_count;
}

DenseMatrix second_of(const SpectralFit& fit) {
  DenseMatrix second;
  SymmetricShape(static_cast<int>(dimension_of(fit)), 2).unfold(fit.second->coefficients, second);
  return second;
}

SymmetricShape shape_of(const SpectralFit& fit) {
  return {static_cast<int>(dimension_of(fit)), 3};
}

/// min lambda |Z|_* + |r|_2 / 2n over all Z, d x d^2, of which rows tell fold(Z). The root is the least over
/// sigma of squared problems with the penalty 2 sqrt(n) sigma lambda, as the library has it; each by ADMM.
class FreeThird {
 public:
  FreeThird(const MomentTensor& raw, const SpectralFit& fit);

  DenseMatrix solved();
  double objective(const DenseMatrix& z);

 private:
  double residual_square(const DenseMatrix& z);
  void solve_squared(double penalty);
  void move_smooth();
  void shrink(double threshold);

  SymmetricShape shape_;
  PowerSystem system_;
  std::vector<double> target_;
  double square_ = 0.0;  // E[t^2], t = y^3 - 3 s2 M1 . x
  double rows_;
  double penalty_;
  SymmetricEigen eigen_;
  double rho_ = 0.0;
  DenseMatrix smooth_, low_rank_, multiplier_, pulled_;
};

FreeThird::FreeThird(const MomentTensor& raw, const SpectralFit& fit)
    : shape_(shape_of(fit)),
      system_(power_system(raw, 3)),
      target_(system_.cross),
      rows_(raw.effective_rows),
      penalty_(fit.third->penalty) {
  const std::vector<double> first = first_moment(raw).coefficients;
  const double slope = 3.0 * fit.noise_variance;
  std::vector<double> offset(target_.size());
  multiply(raw.view(0, 3, 1), first, offset);
  for (std::size_t i = 0; i < target_.size(); ++i) target_[i] -= slope * offset[i];
  std::vector<double> product(first.size());
  multiply(raw.view(0, 1, 1), first, product);
  square_ = system_.response_square - 2.0 * slope * dot(raw.view(3, 1, 0).values, first) +
            slope * slope * dot(product, first);
  eigen_.decompose(system_.gram);
  shape_.unfold(fit.third->coefficients, low_rank_);
  rho_ = 1e-3 * eigen_.values.back();
}

double FreeThird::residual_square(const DenseMatrix& z) {
  std::vector<double> m(shape_.size()), product(shape_.size());
  shape_.fold(z, m);
  multiply(system_.gram, m, product);
  return std::max(square_ + dot(product, m) - 2.0 * dot(target_, m), 1e-15 * square_);
}

double FreeThird::objective(const DenseMatrix& z) {
  DenseMatrix gram{z.rows, z.rows, std::vector<double>(z.rows * z.rows)};
  for (std::size_t i = 0; i < z.rows; ++i) {
    for (std::size_t j = 0; j < z.rows; ++j)
      gram(i, j) =
          dot({z.values.data() + i * z.columns, z.columns}, {z.values.data() + j * z.columns, z.columns});
  }
  SymmetricEigen eigen;
  eigen.decompose(gram);
  double nuclear = 0.0;
  for (const double value : eigen.values) nuclear += std::sqrt(std::max(value, 0.0));
  return penalty_ * nuclear + 0.5 * std::sqrt(residual_square(z) / rows_);
}

/// X = argmin g(fold X) + rho / 2 |X - C|^2, C = Z - U: only C's symmetric part moves.
void FreeThird::move_smooth() {
  pulled_ = low_rank_;
  for (std::size_t i = 0; i < pulled_.values.size(); ++i) pulled_.values[i] -= multiplier_.values[i];
  std::vector<double> before(shape_.size()), rotated(shape_.size()), target(shape_.size()),
      after(shape_.size());
  shape_.fold(pulled_, before);
  for (std::size_t i = 0; i < before.size(); ++i) target[i] = target_[i] + rho_ * before[i];
  multiply(eigen_.vectors, target, rotated);
  for (std::size_t i = 0; i < rotated.size(); ++i) rotated[i] /= std::max(eigen_.values[i], 0.0) + rho_;
  multiply_transposed(eigen_.vectors, rotated, after);
  for (std::size_t i = 0; i < after.size(); ++i) after[i] -= before[i];
  shape_.unfold(after, smooth_);
  for (std::size_t i = 0; i < pulled_.values.size(); ++i) smooth_.values[i] += pulled_.values[i];
}

/// Z = argmin threshold |Z|_* + 1/2 |Z - C|^2, C in pulled_.
void FreeThird::shrink(double threshold) {
  const std::size_t d = pulled_.rows;
  DenseMatrix gram{d, d, std::vector<double>(d * d)};
  DenseMatrix keep = gram;
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j)
      gram(i, j) = dot({pulled_.values.data() + i * pulled_.columns, pulled_.columns},
                       {pulled_.values.data() + j * pulled_.columns, pulled_.columns});
  }
  SymmetricEigen eigen;
  eigen.decompose(gram);
  for (std::size_t s = 0; s < d; ++s) {
    const double singular = std::sqrt(std::max(eigen.values[s], 0.0));
    if (singular <= threshold) continue;
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < d; ++j)
        keep(i, j) += (1.0 - threshold / singular) * eigen.vectors(s, i) * eigen.vectors(s, j);
    }
  }
  multiply(keep, pulled_, low_rank_);
}

void FreeThird::solve_squared(double penalty) {
  for (int iteration = 1; iteration <= most_iterations; ++iteration) {
    move_smooth();
    const DenseMatrix last = low_rank_;
    for (std::size_t i = 0; i < pulled_.values.size(); ++i)
      pulled_.values[i] = smooth_.values[i] + multiplier_.values[i];
    shrink(penalty / rho_);
    double gap = 0.0, change = 0.0;
    for (std::size_t i = 0; i < pulled_.values.size(); ++i) {
      multiplier_.values[i] = pulled_.values[i] - low_rank_.values[i];
      gap += std::pow(smooth_.values[i] - low_rank_.values[i], 2);
      change += std::pow(low_rank_.values[i] - last.values[i], 2);
    }
    const double primal = std::sqrt(gap) / std::max(norm(low_rank_.values), 1e-300);
    const double dual = std::sqrt(change) / std::max(norm(multiplier_.values), 1e-300);
    if (primal < tolerance && dual < tolerance) return;
    if (iteration % 10 != 0 || 4 * iteration > 3 * most_iterations) continue;
    const double factor = std::clamp(std::sqrt(primal / std::max(dual, 1e-300)), 0.2, 5.0);
    rho_ *= factor;
    for (double& value : multiplier_.values) value /= factor;
  }
}

DenseMatrix FreeThird::solved() {
  reshape(multiplier_, low_rank_.rows, low_rank_.columns);
  double sigma = std::sqrt(residual_square(low_rank_));
  for (int round = 0; round < most_rounds; ++round) {
    solve_squared(2.0 * std::sqrt(rows_) * sigma * penalty_);
    const double next = std::sqrt(residual_square(low_rank_));
    if (std::abs(next - sigma) < tolerance * sigma) break;
    sigma = next;
  }
  return low_rank_;
}

/// T(W, W, W), k x k x k; T need not be symmetric.
CubeTensor whitened(const CubeTensor& tensor, const DenseMatrix& whiten) {
  const std::size_t d = tensor.size;
  const std::size_t k = whiten.columns;
  CubeTensor result(k);
  for (std::size_t a = 0; a < d; ++a) {
    for (std::size_t b = 0; b < d; ++b) {
      for (std::size_t c = 0; c < d; ++c) {
        for (std::size_t i = 0; i < k; ++i) {
          for (std::size_t j = 0; j < k; ++j) {
            const double factor = tensor(a, b, c) * whiten(a, i) * whiten(b, j);
            for (std::size_t l = 0; l < k; ++l) result(i, j, l) += factor * whiten(c, l);
          }
        }
      }
    }
  }
  return result;
}

bool normalise(std::span<double> vector) {
  const double length = norm(vector);
  if (!(length > 0.0)) return false;
  for (double& value : vector) value /= length;
  return true;
}

/// One start of the power method: theta <- T(., theta, theta) / |..|.
void iterate(const CubeTensor& tensor, std::vector<double>& theta) {
  std::vector<double> next(theta.size());
  for (int iteration = 0; iteration < iterations; ++iteration) {
    tensor.contract(theta, next);
    if (!normalise(next)) return;
    double square = 0.0;
    for (std::size_t i = 0; i < next.size(); ++i) square += std::pow(next[i] - theta[i], 2);
    theta = next;
    if (std::sqrt(square) < close) return;
  }
}

/// The vector of the largest T(v, v, v) over their restarts, and that value.
double leading(const CubeTensor& tensor, Random& random, std::vector<double>& best) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int start = 0; start < restarts; ++start) {
    std::vector<double> theta(tensor.size);
    for (double& value : theta) value = random.normal();
    normalise(theta);
    iterate(tensor, theta);
    const double value = tensor.cubic_form(theta);
    if (value <= largest) continue;
    largest = value;
    best = theta;
  }
  return largest;
}

}  // namespace

CubeTensor symmetric_third(const SpectralFit& fit) {
  DenseMatrix unfolding;
  shape_of(fit).unfold(fit.third->coefficients, unfolding);
  CubeTensor third(dimension_of(fit));
  third.values = unfolding.values;
  return third;
}

CubeTensor free_third(const MomentTensor& raw, const SpectralFit& fit) {
  CubeTensor third(dimension_of(fit));
  third.values = FreeThird(raw, fit).solved().values;
  return third;
}

double published_objective(const MomentTensor& raw, const SpectralFit& fit, const CubeTensor& third) {
  const std::size_t d = third.size;
  return FreeThird(raw, fit).objective({d, d * d, third.values});
}

/// MATLAB's column begins with the first index, Java's array ends with the last: (a, b, c) is (c; b, a).
CubeTensor read_back(const CubeTensor& third, bool wrongly) {
  const std::size_t d = third.size;
  CubeTensor read(d);
  for (std::size_t a = 0; a < d; ++a) {
    for (std::size_t b = 0; b < d; ++b) {
      const std::size_t column = wrongly ? 2 * a + b : d * a + b;
      for (std::size_t c = 0; c < d; ++c) read(a, b, c) = third.values[(c * d + column % d) * d + column / d];
    }
  }
  return read;
}

Outcome<Mixture> laws_of_the_authors(const SpectralFit& fit, const CubeTensor& third, std::uint64_t seed) {
  const std::size_t k = fit.mixture.component_count();
  const Whitening whitening = whitening_of(second_of(fit), k);
  if (!whitening.sound) return Refusal{Reason::not_identifiable, "M2 has no positive eigenvalue"};
  CubeTensor tensor = whitened(third, whitening.whiten);
  Mixture mixture = fit.mixture;
  Random random(seed);
  for (std::size_t h = 0; h < k; ++h) {
    std::vector<double> vector;
    const double value = leading(tensor, random, vector);
    mixture.weights[h] = 1.0 / (value * value);
    for (std::size_t a = 0; a < mixture.feature_count; ++a) {
      const std::span<const double> row(whitening.unwhiten.values.data() + a * k, k);
      mixture.law(h)[a] = value * dot(row, vector);
    }
    tensor.add_cube(vector, -value);
  }
  return mixture;
}

}  // namespace experiments
