// Where CSV rows begin and end: the one place that decides it, for reading and for cutting files.
#pragma once

#include <string>
#include <vector>

#include "input/bytes.hpp"
#include "input/fields.hpp"

namespace mixstream {

struct CsvRules {
  char delimiter = ',';
  char comment = 0;                ///< 0: none
  std::size_t max_line = 1 << 20;  ///< bytes
};

enum class CsvRowKind : std::uint8_t {
  row,        ///< cut into fields
  skipped,    ///< blank
  comment,    ///< begins with the comment sign
  too_long,   ///< the line is longer than max_line
  binary,     ///< a NUL byte in its first line
  broken,     ///< a quote that does not close as it should; the row ends with its first line
  needs_more  ///< a quoted field is open where the bytes end
};

struct CsvRow {
  CsvRowKind kind = CsvRowKind::row;
  const char* newline = nullptr;  ///< the first one of the row
  const char* next = nullptr;     ///< the byte behind the row, unless it needs more
};

/// Judges the row at `at`, which has a newline before `end`, and cuts it into `fields`. ended: no bytes will
/// come behind `end`.
CsvRow judge_csv_row(const char* at, const char* end, bool ended, const CsvRules& rules,
                     std::vector<Field>& fields);

/// The offset of the first row that begins at or behind `at`, as a reader from the first row on would find
/// it; the end of the file if there is none. In the middle of a file nothing tells whether a newline stands
/// in a quoted field; but every row begins behind a newline and is no longer than max_line, so the rows from
/// all newlines of a stretch that long are followed, and where they have become one, that one is right. They
/// mostly do at once; where they do not, the stretch begins earlier, at last with the first row. Reads a few
/// times max_line; less where there are no quotes.
Outcome<std::uint64_t> find_csv_row(const std::string& path, std::uint64_t first_row, std::uint64_t at,
                                    const CsvRules& rules);

}  // namespace mixstream
