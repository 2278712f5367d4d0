// Where one law takes over from another, in words.
#pragma once

#include <string>
#include <vector>

#include "mixstream/report/report.hpp"

namespace mixstream {

/// For a gate of a constant and one feature, "law 2 takes over above temperature 22": one sentence for each
/// place where the heaviest law changes, in the order of the feature. Nothing for other gates or modes.
/// Allocates.
std::vector<std::string> takeovers(const ModesReport& modes);

}  // namespace mixstream
