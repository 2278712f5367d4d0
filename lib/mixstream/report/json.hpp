// The report as one JSON object on one line; names are a contract (docs/reference/json.md).
#pragma once

#include <string>

#include "mixstream/report/report.hpp"

namespace mixstream {

/// One line without its newline. Numbers print so that they read back to the same bits; never NaN.
std::string to_json(const Report& report);

}  // namespace mixstream
