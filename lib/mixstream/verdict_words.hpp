// What a verdict says in words: what is wrong, and what to do.
#pragma once

#include <string>

#include "mixstream/refinement/refine.hpp"
#include "mixstream/report/report.hpp"

namespace mixstream {

/// Of a refined fit, accepted or not. `tail_suspected`: large rows have ruined the moments.
std::string verdict_words(const RefinedFit& fit, bool tail_suspected);

/// The fit is accepted, but a component's weight is not above its own error.
std::string lost_words();

/// The fit is accepted, but so are other laws.
std::string doubted_words();

/// Moments and scores parted; `distance`: parting of the two.
std::string parted_words(double distance);

/// Of a fit of rows in order: what was seen of its modes, and what speaks against it.
std::string modes_words(const Report& report, double dispersion);

}  // namespace mixstream
