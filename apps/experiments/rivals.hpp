// Rivals on the same rows, in the same run, on the same machine: flexmix and mixtools (R), our compiled EM
// with restarts, stepwise EM, and mixstream itself as its users run it.
#pragma once

#include "experiments/context.hpp"

namespace experiments {

/// Setting (1,4,2), noise variance per component as flexmix and mixtools have it. Every rival is a program of
/// its own that reads the same file; R's start and reading do not count as its time.
Json run_rivals(Context& context);

/// `experiments rival em|stepwise FILE LAWS STARTS SEED`: what run_rivals starts. Prints a JSON object a fit.
int be_rival(int count, char** words);

}  // namespace experiments
