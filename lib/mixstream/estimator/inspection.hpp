// What a state holds, in words for people and programs.
#pragma once

#include <cstddef>
#include <string>

#include "mixstream/estimator.hpp"

namespace mixstream {

/// Rows, shape, memory, identifiability and conditioning as one JSON object: what `mixstream inspect` prints.
/// `bytes`: of the saved state.
std::string inspection_json(const Estimator& estimator, std::size_t bytes);

}  // namespace mixstream
