// Column names: from a header or numbered, and the choice of some of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "input/input.hpp"

namespace mixstream {

/// What a reader does with one column of the file.
struct ColumnUse {
  int number = -1;     ///< position in Batch::values, or -1
  bool text = false;   ///< wanted as text
  bool time = false;   ///< the number may be an ISO 8601 time
  bool coded = false;  ///< the number is the code of a text
};

/// Names that stand several times become name.1, name.2, ...; others stay.
void tell_apart(std::vector<std::string>& columns);

/// c1, c2, ... of the given count.
std::vector<std::string> numbered_columns(std::size_t count);

/// Names that are all numbers: the first line was a row, likely.
bool all_numbers(const std::vector<std::string>& columns);

/// One use per column. Refuses names that are unknown, stand twice in the header or were asked for twice.
Outcome<std::vector<ColumnUse>> choose_columns(const std::vector<std::string>& columns,
                                               const Selection& selection);

}  // namespace mixstream
