// A mixture whose noise leans to one side: e = u + w, u ~ N(0, sigma_h^2), and w exponential with mean tau_h,
// or minus that. Its skewness reaches from -2 to 2. By EM on held rows, w being what is not seen.
#pragma once

#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/doubts/held.hpp"

namespace mixstream {

struct LeanFit {
  Mixture mixture;        ///< laws of the mean; variances of u and w together
  double skewness = 0.0;  ///< of the residuals, mean over laws
  double log_likelihood = 0.0;
};

/// From a mixture with normal noise. `skewness`: a first guess, whose sign says to which side. Allocates; n k
/// d^2 products a round.
LeanFit fit_lean(const std::vector<PlacedRow>& rows, const RawUnits& units, const Mixture& start,
                 NoiseModel noise, double skewness);

}  // namespace mixstream
