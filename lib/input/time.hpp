// Points in time from text.
#pragma once

#include <string_view>

#include "input/number.hpp"

namespace mixstream {

/// Seconds since 1970 began in UTC, from ISO 8601: 2024-05-01, 2024-05-01T12:30, 2024-05-01 12:30:15.25Z,
/// 20240501T123015+0200; from a day with points, 01.05.2024 12:30; and from 05/01/2024 12:30 PM, where AM or
/// PM says that the month stands first. The zone is Z, UTC or a distance such as +02:00, and UTC where there
/// is none. Kind number or text; a plain number is text. No throw, no allocation.
ParsedNumber parse_time(std::string_view text) noexcept;

/// parse_time, or what parse_number makes of it.
ParsedNumber parse_time_or_number(std::string_view text) noexcept;

/// Seconds that one unit of a clock lasts which shows such a number: 1 below the year 5138, else a power of a
/// thousandth. No throw, no allocation.
double clock_unit(double time) noexcept;

}  // namespace mixstream
