// What the estimator costs against d, k and n, with the exponents of power laws through the measurements.
#pragma once

#include "experiments/context.hpp"

namespace experiments {

/// Processor time of one thread. Exponents are slopes of log cost against log size.
Json run_cost(Context& context);

}  // namespace experiments
