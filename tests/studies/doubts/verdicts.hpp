#pragma once

#include "study.hpp"

namespace doubts_study {

/// Whole passes with everything chosen by the rows, right and wrong models mixed: prints a line a kind and
/// returns 1 where a fit that may be used is off by more than it says, or where a right model was left too
/// often.
int verdicts(const Words& words);

}  // namespace doubts_study
