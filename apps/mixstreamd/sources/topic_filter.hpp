// MQTT topic filters: which are sound, what they match, and `$share/GROUP/FILTER`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "mixstream/core/outcome.hpp"

namespace mixstream {

/// Refuses what a broker would: a `#` that is not the last level, a wildcard inside a level, an empty or
/// overlong text, control characters, a shared subscription without group or filter.
Done check_filter(std::string_view filter);

/// The filter that topics are held against: of `$share/GROUP/FILTER` what stands behind the group. No throw,
/// no allocation.
std::string_view plain_filter(std::string_view filter) noexcept;

/// Whether a topic matches a filter, a shared one by its plain filter. No throw, no allocation.
bool filter_matches(std::string_view filter, std::string_view topic) noexcept;

/// Whether some topic matches both. No throw, no allocation.
bool filters_overlap(std::string_view one, std::string_view two) noexcept;

/// Level `number` of a topic, from 1 on; empty where there is none. No throw, no allocation.
std::string_view level_of(std::string_view topic, std::size_t number) noexcept;

/// Whether every topic that a filter matches has a level of this number. No throw, no allocation.
bool filter_has_level(std::string_view filter, std::size_t number) noexcept;

}  // namespace mixstream
