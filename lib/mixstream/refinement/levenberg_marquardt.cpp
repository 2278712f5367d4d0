#include "mixstream/refinement/levenberg_marquardt.hpp"

#include <algorithm>

namespace mixstream::numerics {

bool damped_step(const LeastSquares& at, double damping, Vector& step) {
  Matrix damped = at.hessian;
  const double floor = 1e-12 * blaze::max(blaze::diagonal(at.hessian));
  for (std::size_t i = 0; i < damped.rows(); ++i) damped(i, i) += damping * (at.hessian(i, i) + floor);
  step = at.gradient;
  blaze::blas_int_t info = 0;
  const auto size = static_cast<blaze::blas_int_t>(damped.rows());
  const auto spacing = static_cast<blaze::blas_int_t>(damped.spacing());
  blaze::posv('U', size, 1, damped.data(), spacing, step.data(), size, &info);
  return info == 0;
}

}  // namespace mixstream::numerics
