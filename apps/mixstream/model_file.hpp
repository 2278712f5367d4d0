// A fit in a file: JSON lines, of which the last counts.
#pragma once

#include <string>

#include "mixstream/outcome.hpp"
#include "mixstream/report/json.hpp"

namespace mixstream {

/// The last fit of a file of JSON lines; refusals name the file.
Outcome<FittedLaws> read_model(const std::string& path);

}  // namespace mixstream
