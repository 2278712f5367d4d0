// Why the paper's Spectral column and ours differ, by measurement: its method with one choice changed at a
// time.
#pragma once

#include "experiments/context.hpp"

namespace experiments {

Json run_variants(Context& context);

}  // namespace experiments
