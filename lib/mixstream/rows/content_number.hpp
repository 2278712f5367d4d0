// A number for rows that bring none and have no order: what they hold.
#pragma once

#include <cstdint>

#include "mixstream/rows/row.hpp"

namespace mixstream {

/// Of features, response, weight, time and sensor; -0.0 is 0.0. As RowPosition::row it makes the sample
/// depend on the rows alone, in any order and in any cut, as long as few of them are alike. No throw, no
/// allocation; a multiplication for each number.
std::uint64_t content_number(const Row& row) noexcept;

}  // namespace mixstream
