#include "mixstream/refinement/standard_errors.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/linalg/blaze.hpp"
#include "mixstream/linalg/products.hpp"
#include "mixstream/linalg/spectrum.hpp"

namespace mixstream {
namespace {

using linalg::Matrix;

/// d (beta, pi, s2) / d theta.
Matrix natural_jacobian(const Mixture& mixture, NoiseModel noise, std::size_t parameters) {
  const std::size_t k = mixture.component_count();
  const std::size_t laws = k * mixture.feature_count;
  Matrix jacobian(laws + 2 * k, parameters, 0.0);
  for (std::size_t i = 0; i < laws; ++i) jacobian(i, i) = 1.0;
  for (std::size_t h = 0; h < k; ++h) {
    for (std::size_t g = 0; g + 1 < k; ++g) {
      jacobian(laws + h, laws + g) = mixture.weights[h] * ((h == g ? 1.0 : 0.0) - mixture.weights[g]);
    }
    if (noise == NoiseModel::known) continue;
    jacobian(laws + k + h, laws + k - 1 + (noise == NoiseModel::shared ? 0 : h)) = mixture.noise_variances[h];
  }
  return jacobian;
}

/// d raw / d pilot of (beta, pi, s2): slopes scale, the intercept gathers the shifts; see to_raw.
Matrix raw_jacobian(const Mixture& mixture, const Layout& layout, const Pilot& pilot) {
  const std::size_t k = mixture.component_count();
  const std::size_t d = mixture.feature_count;
  const double response_scale = pilot.scale.back();
  Matrix jacobian(k * d + 2 * k, k * d + 2 * k, 0.0);
  for (std::size_t h = 0; h < k; ++h) {
    for (int f = 0; f < layout.feature_count; ++f) {
      const std::size_t at = h * d + static_cast<std::size_t>(f);
      const auto variable = static_cast<std::size_t>(layout.variable_of(f));
      const double stretch = response_scale / pilot.scale[variable];
      jacobian(at, at) = stretch;
      if (variable == 0 || !layout.has_constant()) continue;
      jacobian(h * d + static_cast<std::size_t>(layout.constant_feature), at) =
          -stretch * pilot.shift[variable];
    }
    jacobian(k * d + h, k * d + h) = 1.0;
    jacobian(k * d + k + h, k * d + k + h) = response_scale * response_scale;
  }
  return jacobian;
}

MixtureErrors errors_of(const Matrix& covariance, std::size_t k, std::size_t d) {
  MixtureErrors errors;
  const auto root = [&](std::size_t i) { return std::sqrt(std::max(covariance(i, i), 0.0)); };
  for (std::size_t i = 0; i < k * d; ++i) errors.coefficients.push_back(root(i));
  for (std::size_t h = 0; h < k; ++h) errors.weights.push_back(root(k * d + h));
  for (std::size_t h = 0; h < k; ++h) errors.noise_variances.push_back(root(k * d + k + h));
  errors.covariance = linalg::to_dense(covariance);
  return errors;
}

}  // namespace

DenseMatrix covariance_from(const DenseMatrix& information) {
  return pseudo_inverse(information);
}

double standard_error(const DenseMatrix& covariance, std::span<const double> gradient) noexcept {
  return std::sqrt(std::max(quadratic_form(covariance, gradient), 0.0));
}

MixtureErrors mixture_errors(const Mixture& mixture, NoiseModel noise, const DenseMatrix& covariance) {
  const Matrix jacobian = natural_jacobian(mixture, noise, covariance.rows);
  const Matrix natural = jacobian * linalg::to_blaze(covariance) * blaze::trans(jacobian);
  return errors_of(natural, mixture.component_count(), mixture.feature_count);
}

MixtureErrors raw_mixture_errors(const Mixture& mixture, NoiseModel noise, const DenseMatrix& covariance,
                                 const Layout& layout, const Pilot& pilot) {
  const Matrix jacobian =
      raw_jacobian(mixture, layout, pilot) * natural_jacobian(mixture, noise, covariance.rows);
  const Matrix raw = jacobian * linalg::to_blaze(covariance) * blaze::trans(jacobian);
  return errors_of(raw, mixture.component_count(), mixture.feature_count);
}

}  // namespace mixstream
