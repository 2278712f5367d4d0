// In which order laws are reported.
#pragma once

#include <cstddef>
#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/refinement/standard_errors.hpp"

namespace mixstream::solving {

/// Law h of the report is order[h] of the mixture: the last fit's labels where there is one of as many laws;
/// else the heavier law first, and of weights that chance may have made different the larger coefficient.
/// `errors`: nothing: every difference counts. Allocates.
std::vector<std::size_t> labels_for(const Mixture& mixture, const MixtureErrors* errors, const Mixture* last);

}  // namespace mixstream::solving
