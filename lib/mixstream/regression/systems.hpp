// The regressions of y, y^2 and y^3 on x, x^(2) and x^(3), as normal equations read from the moment tensor.
#pragma once

#include <vector>

#include "mixstream/moments/tensor.hpp"

namespace mixstream {

/// E(y^p - <M, x^(p)>)^2 as a quadratic in m = cvec(M).
struct PowerSystem {
  DenseMatrix gram;            ///< Sigma_p = E[phi_p phi_p']
  std::vector<double> cross;   ///< E[y^p phi_p]
  std::vector<double> mean;    ///< E[phi_p]
  double response_square = 0;  ///< E[y^(2p)]
};

/// The system of degree p = 1, 2 or 3, in the tensor's coordinates. Allocates N(d, p)^2 numbers.
PowerSystem power_system(const MomentTensor& tensor, int degree);

/// Ordinary least squares of y on x: M1 = Sigma_1^-1 E[y x].
struct FirstMoment {
  std::vector<double> coefficients;  ///< M1, d numbers
  DenseMatrix gram;                  ///< Sigma_1
  std::size_t rank = 0;              ///< of Sigma_1; below d the coefficients are those of least norm
  double response_square = 0;        ///< E[y^2]
  double residual_square = 0;        ///< E[e^2], e = y - M1 . x
};
FirstMoment first_moment(const MomentTensor& tensor);

/// The regressions of e^2 and e^3, e = y - M1 . x. Given x, e has mean zero, E[e^2|x] = x'Cov(beta)x + s2 and
/// E[e^3|x] is the third central moment of beta . x plus E[eps^3]: the mean law is out of the way.
struct CentralSystems {
  PowerSystem second;
  PowerSystem third;
};
/// Allocates; cost N(d, 3)^2.
CentralSystems central_systems(const MomentTensor& tensor, const FirstMoment& first);

}  // namespace mixstream
