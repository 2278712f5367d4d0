// What can be wrong with a row, from its bytes to its numbers: one list for files, messages and states.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mixstream {

/// Why a row was refused. Names are stable: they appear in JSON, in logs and on stderr.
enum class RowFault : std::uint8_t {
  none,            ///< the row is accepted
  wrong_width,     ///< number of features differs from the state's
  not_a_number,    ///< a text where a number was asked for; NaN in features, response, weight or time
  infinite,        ///< inf, or a number beyond the largest double
  too_large,       ///< a magnitude whose sixth power could overflow
  bad_weight,      ///< weight zero, negative, or outside smallest_weight to largest_weight
  wrong_constant,  ///< the feature declared constant is not 1
  clock_jump,      ///< half-life in seconds: a time that the rows around it do not confirm, see Forgetting
  // Those above are a state's, which stores their counts in this order. Those below are found before.
  ragged,         ///< more or fewer fields than columns; a block of numbers that ends inside a row
  missing_value,  ///< empty, NA, N/A, NaN, null or none, in any case: the caller's policy decides
  line_too_long,  ///< longer than InputSettings::max_line; never held in memory whole
  binary,         ///< a NUL byte in a text
  open_quote,     ///< a quoted field that does not close, or goes on behind its closing quote
  bad_json,       ///< not an object, nor an array of rows
  missing_key,    ///< the object lacks a field that is needed
  bad_sequence,   ///< an epoch or sequence number that is no whole number from 0 to 2^53 - 1
  bad_sensor      ///< a sensor's name that is no text, or longer than longest_sensor
};
inline constexpr std::size_t state_fault_count = 8;
inline constexpr std::size_t row_fault_count = 17;

/// Rows of a state by what became of them; the first are the accepted ones.
using RowCounts = std::array<std::uint64_t, state_fault_count>;

/// The stable name of a fault, such as "not_a_number". No throw, no allocation.
constexpr const char* name_of(RowFault fault) noexcept {
  constexpr std::array<const char*, row_fault_count> names = {
      "none",           "wrong_width", "not_a_number", "infinite",      "too_large",     "bad_weight",
      "wrong_constant", "clock_jump",  "ragged",       "missing_value", "line_too_long", "binary",
      "open_quote",     "bad_json",    "missing_key",  "bad_sequence",  "bad_sensor"};
  const auto place = static_cast<std::size_t>(fault);
  return place < names.size() ? names[place] : "unknown";
}

}  // namespace mixstream
