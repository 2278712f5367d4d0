// How unusual a chi-square reading is.
#pragma once

#include <cmath>

namespace mixstream {

/// A chi-square reading as standard deviations of a normal one (Wilson and Hilferty). No throw.
inline double deviations_of_chi_square(double chi_square, double dof) noexcept {
  const double spread = 2.0 / (9.0 * dof);
  return (std::cbrt(chi_square / dof) - (1.0 - spread)) / std::sqrt(spread);
}

/// The chi-square over its degrees of freedom, an F with endlessly many behind it, that lies so many standard
/// deviations of a normal one out: the way back. No throw.
inline double f_at_deviations(double deviations, double dof) noexcept {
  const double spread = 2.0 / (9.0 * dof);
  const double root = 1.0 - spread + deviations * std::sqrt(spread);
  return root * root * root;
}

}  // namespace mixstream
