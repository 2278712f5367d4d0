// From the information matrix of theta to standard errors of what a reader wants to know.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mixstream/core/dense.hpp"
#include "mixstream/core/layout.hpp"
#include "mixstream/core/mixture.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/rows/pilot.hpp"

namespace mixstream {

/// The covariance of theta: pseudo-inverse of its information; a direction without information counts as
/// known, not as infinite, so judge a fit before trusting its errors. Throws std::runtime_error when LAPACK
/// fails, which takes non-finite input.
DenseMatrix covariance_from(const DenseMatrix& information);

/// Delta method: the standard error of a function with this gradient. No throw, no allocation.
double standard_error(const DenseMatrix& covariance, std::span<const double> gradient) noexcept;

/// Standard errors of all that a mixture holds, and their joint covariance, in one system of coordinates.
struct MixtureErrors {
  std::vector<double> coefficients;     ///< k x d
  std::vector<double> weights;          ///< k
  std::vector<double> noise_variances;  ///< k; zero where they are known
  DenseMatrix covariance;               ///< of (beta_1 .. beta_k, pi, s2_1 .. s2_k), k d + 2 k square
};

/// Errors in the coordinates of theta itself.
MixtureErrors mixture_errors(const Mixture& mixture, NoiseModel noise, const DenseMatrix& covariance);

/// Errors in raw coordinates, given mixture and covariance of theta in pilot coordinates.
MixtureErrors raw_mixture_errors(const Mixture& mixture, NoiseModel noise, const DenseMatrix& covariance,
                                 const Layout& layout, const Pilot& pilot);

}  // namespace mixstream
