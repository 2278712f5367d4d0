// The paper's figures: fitted curves beside the data, and errors against the number of rows.
#pragma once

#include "experiments/context.hpp"

namespace experiments {

/// Data and laws along t at (1,4,3): the truth, Spectral, Spectral+EM, ours, and every optimum that EM found.
Json run_curves(Context& context);

/// Errors of all methods from 1e3 to 1e7 rows, well specified and not.
Json run_learning_curve(Context& context);

}  // namespace experiments
