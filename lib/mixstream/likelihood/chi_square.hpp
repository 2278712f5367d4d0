// How unusual a chi-square reading is.
#pragma once

#include <cmath>

namespace mixstream {

/// A chi-square reading as standard deviations of a normal one (Wilson and Hilferty). No throw.
inline double deviations_of_chi_square(double chi_square, double dof) noexcept {
  const double spread = 2.0 / (9.0 * dof);
  return (std::cbrt(chi_square / dof) - (1.0 - spread)) / std::sqrt(spread);
}

}  // namespace mixstream
