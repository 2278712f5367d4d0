// Real data with known fits, fetched by package name when the experiment runs.
#pragma once

#include "experiments/context.hpp"

namespace experiments {

/// Two laws of y on (1, x), noise per component: what one pass says, its verdict, and flexmix beside it.
Json run_real(Context& context);

}  // namespace experiments
