#include "mixstream/linalg/levenberg_marquardt.hpp"

#include "mixstream/linalg/blocked.hpp"

namespace mixstream::linalg {

bool damped_step(const SquaredResiduals& at, double damping, double ridge, Vector& step) {
  const std::size_t size = at.gradient.size();
  const double largest = blaze::max(blaze::diagonal(at.hessian));
  std::vector<double> damped(size * size);
  MatrixView(damped.data(), size, size) = at.hessian;
  for (std::size_t i = 0; i < size; ++i)
    damped[i * size + i] += damping * (at.hessian(i, i) + 1e-12 * largest) + ridge * largest;
  step = at.gradient;
  if (!cholesky(damped, size)) return false;
  solve(damped, size, {step.data(), size});
  return true;
}

}  // namespace mixstream::linalg
