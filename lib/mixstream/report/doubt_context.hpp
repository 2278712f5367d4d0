// What the words of a doubt need to know of the fit.
#pragma once

#include "mixstream/doubts/words.hpp"
#include "mixstream/report/report.hpp"

namespace mixstream {

/// Of a report with laws. Allocates.
DoubtContext context_of(const Report& report);

}  // namespace mixstream
