// The experiments on simulated streams. Each runs or resumes its cells, prints a table and returns its
// results:
// {"title", "broken": claims that do not hold, ...}.
#pragma once

#include "experiments/context.hpp"

namespace experiments {

Json run_first_table(Context& context);
Json run_second_table(Context& context);
Json run_histogram(Context& context);  ///< errors at (1,4,3), 17 instances, ten attempts each
Json run_noise(Context& context);      ///< s2 from 0.01 to 0.4

}  // namespace experiments
