// The results as a page with plots: one file, no network.
#pragma once

#include <string>

#include "experiments/json.hpp"
#include "mixstream/core/outcome.hpp"

namespace experiments {

/// Refuses where the program was built without uPlot.
mixstream::Outcome<std::string> page_of(const Json& results);

}  // namespace experiments
