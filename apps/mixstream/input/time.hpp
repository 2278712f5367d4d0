// Points in time from text.
#pragma once

#include <string_view>

#include "input/number.hpp"

namespace mixstream {

/// Seconds since 1970 began in UTC, from ISO 8601: 2024-05-01, 2024-05-01T12:30, 2024-05-01 12:30:15.25Z,
/// 20240501T123015+0200; the zone is Z, UTC or a distance such as +02:00, and UTC where there is none. Kind
/// number or text; a plain number is text. No throw, no allocation.
ParsedNumber parse_time(std::string_view text) noexcept;

/// parse_time, or what parse_number makes of it.
ParsedNumber parse_time_or_number(std::string_view text) noexcept;

}  // namespace mixstream
