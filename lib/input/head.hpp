// The beginning of an input: which format it is, and the names of its columns.
#pragma once

#include "input/input.hpp"
#include "input/window.hpp"

namespace mixstream {

struct Head {
  Format format = Format::csv;       ///< never detect
  char delimiter = ',';              ///< of CSV
  std::vector<std::string> columns;  ///< in file order
  std::uint64_t line = 1;            ///< of the first byte behind the head
  std::string header{};              ///< CSV: the line of names, without its line end
  bool carriage_returns = false;     ///< CSV: it ends with one
  bool last_is_unnamed = false;      ///< CSV: it ends with a delimiter
  bool has_row_names = false;        ///< CSV: the names of rows stand in front, and have no name themselves
  std::vector<std::string> notes{};  ///< what was passed over, in sentences
};

/// Reads as far as needed and consumes a byte order mark, and for CSV everything up to the first row: blank
/// lines, comments that begin with #, a preamble of text (lines that have other fields than the table behind
/// them), and the names. Names may stand in the last comment; the names of rows, as R writes them, need none.
/// Waits for the line behind the names, and for more where one of the two does not look like that. The result
/// does not depend on how the bytes arrive.
Outcome<Head> read_head(Window& window, const InputSettings& settings);

/// Reads once more for a head; waits on after an interruption unless settings.on_wake says no.
Done read_more(Window& window, const InputSettings& settings);

}  // namespace mixstream
