// How far noise leans to one side: e = u + w, u ~ N(0, sigma_h^2), and w exponential with mean tau_h, or
// minus that. By EM on held rows, w being what is not seen. Two normal halves (spread_fit.hpp) say how much
// leaning explains, but no skewness beyond 1; here tails take part, so what this explains is not leaning
// alone.
#pragma once

#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/doubts/held.hpp"

namespace mixstream {

/// Skewness of the residuals, mean over laws, each row shared out as such noise asks. From a mixture with
/// normal noise; `guess`: a skewness whose sign says to which side. Allocates; n k d^2 products a round.
double lean_skewness(const std::vector<PlacedRow>& rows, const RawUnits& units, const Mixture& start,
                     NoiseModel noise, double guess);

}  // namespace mixstream
