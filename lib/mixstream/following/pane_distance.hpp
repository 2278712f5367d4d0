// Drift as moments see it: J of recent rows under a fit made from others.
#pragma once

#include <cstddef>

#include "mixstream/core/outcome.hpp"
#include "mixstream/moments/tensor.hpp"
#include "mixstream/refinement/refine.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

struct PaneDistance {
  double distance = 0.0;    ///< J = n |W (observed - implied)|^2, the errors of the fit counted in W
  std::size_t dof = 0;      ///< about what J is when the rows still follow the fit
  double deviations = 0.0;  ///< J against that, in standard deviations
};

/// J of a pane's moments at a fit, refined or polished (with the polish's mixture and information in its
/// place), that stays where it is. Pane, sample and fit in the same pilot coordinates. The sample may be of
/// older rows: only its x's are used. Allocates; the cost of one weighting.
Outcome<PaneDistance> pane_distance(const MomentTensor& pane, const RowTable& sample, const RefinedFit& fit,
                                    std::size_t largest_condition_count = 750);

}  // namespace mixstream
