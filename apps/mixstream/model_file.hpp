// Fits in a file: JSON lines, of which the last counts.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "mixstream/core/outcome.hpp"
#include "mixstream/report/fitted_laws.hpp"

namespace mixstream {

/// By group; "" for a model of all rows.
using Models = std::map<std::string, FittedLaws, std::less<>>;

/// The last fit of each group in a file of JSON lines; lines without laws are passed over. Refuses a file
/// without any, naming it.
Outcome<Models> read_models(const std::string& path);

/// The one model of a file without groups.
Outcome<FittedLaws> read_model(const std::string& path);

}  // namespace mixstream
