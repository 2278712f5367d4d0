// Real data in order, or with regimes that are known: what the rows choose, and what the verdict says of it.
#pragma once

#include "experiments/context.hpp"

namespace experiments {

/// Two laws, everything else chosen by the rows. Broken: fewer than eight sets, a collapsed law shown, fewer
/// than six sets that may be used, or one of the others without a reason.
Json run_regimes(Context& context);

}  // namespace experiments
