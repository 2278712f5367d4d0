// Cuts CSV rows into fields: RFC 4180 with any one-byte delimiter and LF or CRLF line ends. Where the
// delimiter is a blank, runs of blanks and tabs are one, and those at the ends of a line are none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mixstream {

struct Field {
  std::string_view bytes;  ///< without the enclosing quotes
  bool quoted = false;
  bool doubled = false;  ///< holds doubled quotes, each standing for one
};

enum class Cut : std::uint8_t {
  row,          ///< a whole row
  open,         ///< the bytes end inside a quoted field
  broken_quote  ///< something other than a delimiter or line end follows a closing quote
};

/// Cuts the row at `begin` into `fields`, which keeps its memory; `next` is set to the byte behind the row's
/// newline. A quote opens a quoted field only as the field's first byte; elsewhere it is a plain byte. A row
/// without quoted fields must hold its newline before `end`.
Cut cut_row(const char* begin, const char* end, char delimiter, std::vector<Field>& fields,
            const char*& next);

/// The field's text with doubled quotes made single, appended to `text`.
void append_unquoted(const Field& field, std::string& text);

/// The first delimiter, newline, quote or NUL at or behind `at`. The caller guarantees that there is a
/// newline, and 16 readable bytes behind it.
const char* field_end(const char* at, char delimiter) noexcept;

}  // namespace mixstream
