// The one JSON type of the experiments.
#pragma once

#include <nlohmann/json.hpp>

namespace experiments {

using Json = nlohmann::ordered_json;

}  // namespace experiments
