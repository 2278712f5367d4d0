#include "input/head.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <simdjson.h>

#include "input/columns.hpp"
#include "input/fields.hpp"
#include "input/ndjson_reader.hpp"
#include "input/number_rules.hpp"
#include "input/text.hpp"

namespace mixstream {
namespace {

using namespace std::string_view_literals;

Refusal bad(std::initializer_list<std::string_view> parts) {
  return {Reason::bad_input, joined(parts)};
}

std::string_view unread(const Window& window) noexcept {
  return {window.begin(), window.size()};
}

/// Consumes a UTF-8 byte order mark; refuses a UTF-16 one.
Done skip_byte_order_mark(Window& window, const InputSettings& settings) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  constexpr std::array wide_marks{"\xFF\xFE"sv, "\xFE\xFF"sv};
  const auto may_become = [&](std::string_view whole) {
    return !window.ended() && window.size() < whole.size() && whole.starts_with(unread(window));
  };
  while (may_become(mark) || may_become(wide_marks[0]) || may_become(wide_marks[1])) {
    if (const Done read = read_more(window, settings); !read) return read;
  }
  if (unread(window).starts_with(mark)) {
    window.consume(window.begin() + mark.size());
    return std::monostate{};
  }
  for (const std::string_view wide : wide_marks) {
    if (unread(window).starts_with(wide)) {
      return bad(
          {"the input is UTF-16 text: convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8 FILE | "
           "mixstream ...)"});
    }
  }
  return std::monostate{};
}

struct KnownFile {
  std::string_view magic;
  std::string_view kind;
};
constexpr std::array known_files{KnownFile{"PAR1", "a Parquet file"},
                                 KnownFile{"PK\3\4", "a zip archive or spreadsheet"},
                                 KnownFile{"\x93NUMPY", "a NumPy file"},
                                 KnownFile{"\x89HDF", "an HDF5 file"},
                                 KnownFile{"\xFD\x37zXZ", "compressed with xz"},
                                 KnownFile{"BZh91AY", "compressed with bzip2"}};

std::string_view known_kind(std::string_view bytes) noexcept {
  for (const KnownFile& file : known_files) {
    if (bytes.starts_with(file.magic)) return file.kind;
  }
  return {};
}

Refusal binary_input(std::string_view bytes) {
  const std::string_view kind = known_kind(bytes);
  return bad({"the input is ", kind.empty() ? "binary" : kind,
              ", not text: give CSV or NDJSON (plain, gzip or zstd), or name a raw format and its width"});
}

/// Carriage returns that no newline follows.
std::size_t inner_returns(std::string_view line) noexcept {
  return static_cast<std::size_t>(std::ranges::count(line, '\r')) - (line.ends_with('\r') ? 1 : 0);
}

/// Above the table, comments begin with # too.
bool is_comment(std::string_view line, const InputSettings& settings) noexcept {
  return line.starts_with('#') || (settings.comment != 0 && line.starts_with(settings.comment));
}

bool is_blank(std::string_view line, const InputSettings& settings) noexcept {
  return std::ranges::all_of(line, [&](char c) {
    return (c == ' ' || c == '\t' || c == '\r') && (c != settings.delimiter || c == ' ');
  });
}

/// Consumes the lines before the given one.
Done skip_lines(Window& window, const InputSettings& settings, std::uint64_t& number) {
  while (number < settings.header_line) {
    const std::string_view bytes = unread(window);
    const std::size_t end = bytes.find('\n');
    if (end != std::string_view::npos) {
      window.consume(window.begin() + end + 1);
      ++number;
    } else if (window.ended()) {
      return bad({"there is no line ", std::to_string(settings.header_line), ": the input ends before it"});
    } else if (const Done read = read_more(window, settings); !read) {
      return read;
    }
  }
  return std::monostate{};
}

/// The first line that is neither blank nor a comment, without its newline; what is before it is consumed,
/// and the last comment kept. A line that was asked for is taken whatever it is.
Outcome<std::string_view> first_line(Window& window, const InputSettings& settings, std::uint64_t& number,
                                     std::string& comment) {
  for (;;) {
    const std::string_view bytes = unread(window);
    const std::string_view line = bytes.substr(0, bytes.find('\n'));
    if (line.find('\0') != std::string_view::npos) return binary_input(bytes);
    if (inner_returns(line) >= 2)
      return bad({"its lines end in carriage returns alone: tr '\\r' '\\n' < FILE | mixstream ..."});
    if (line.size() > settings.max_line) {
      return bad(
          {"the first line is longer than ", std::to_string(settings.max_line), " bytes: is this text?"});
    }
    if (line.size() == bytes.size()) {
      if (window.ended()) return bad({"the input is empty: there is neither a header nor a row"});
      if (const Done read = read_more(window, settings); !read) return read.refusal();
    } else if (settings.header_line == 0 && (is_comment(line, settings) || is_blank(line, settings))) {
      if (is_comment(line, settings)) comment = line;
      window.consume(window.begin() + line.size() + 1);
      ++number;
    } else {
      return line;
    }
  }
}

Outcome<Format> format_of(std::string_view line, std::string_view bytes) {
  const std::string_view text = without_blanks(line);
  if (text.starts_with('{')) return Format::ndjson;
  if (text.starts_with('['))
    return bad({"the input is a JSON array: give one object per line instead (jq -c '.[]')"});
  if (!known_kind(bytes).empty()) return binary_input(bytes);
  return Format::csv;
}

/// The most frequent of the usual delimiters outside quotes; if there is none, a blank between words, as
/// other programs write tables of numbers; else a comma.
char delimiter_of(std::string_view line) noexcept {
  constexpr std::string_view usual = ",;\t|";
  std::array<std::size_t, usual.size()> counts{};
  bool quoted = false;
  bool blank = false;
  for (const char c : without_blanks(line)) {
    if (c == '"') quoted = !quoted;
    blank = blank || (!quoted && c == ' ');
    const std::size_t which = usual.find(c);
    if (!quoted && which != std::string_view::npos) ++counts[which];
  }
  const auto most = std::ranges::max_element(counts);
  if (*most == 0 && blank) return ' ';
  return usual[static_cast<std::size_t>(most - counts.begin())];
}

std::vector<std::string> names_of(const std::vector<Field>& fields) {
  std::vector<std::string> names = numbered_columns(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::string name;
    append_unquoted(fields[i], name);
    const std::string_view trimmed = without_blanks(name);
    if (!trimmed.empty()) names[i] = trimmed;
  }
  return names;
}

/// How the lines of a table look: their fields, and whether some are numbers.
struct LineShape {
  std::size_t fields =
      0;                ///< 0: a quoted field does not end; without the empty one behind a trailing delimiter
  std::size_t cut = 0;  ///< with it
  bool any_number = false;
  bool any_empty = false;  ///< but the last, behind a trailing delimiter
  bool all_numbers = true;
};

LineShape shape_of(std::string_view line, char delimiter, const InputSettings& settings) {
  std::string with_end(line);
  with_end += '\n';
  std::vector<Field> fields;
  const char* next = nullptr;
  LineShape shape;
  if (cut_row(with_end.data(), with_end.data() + with_end.size(), delimiter, fields, next) != Cut::row)
    return shape;
  shape.cut = fields.size();
  if (fields.size() > 1 && fields.back().bytes.empty()) fields.pop_back();
  shape.fields = fields.size();
  for (const Field& field : fields) {
    const NumberKind kind = parse_number(field.bytes, settings.numbers).kind;
    const NumberStyle style = kind == NumberKind::text ? style_of(field.bytes) : NumberStyle::none;
    const bool number =
        kind == NumberKind::number || (style != NumberStyle::none && style != NumberStyle::with_unit);
    shape.any_number = shape.any_number || number;
    shape.all_numbers = shape.all_numbers && number;
    shape.any_empty = shape.any_empty || without_blanks(field.bytes).empty();
  }
  return shape;
}

/// The lines behind the first that hold something, up to so many, waiting for them; fewer at the end.
Outcome<std::vector<std::string_view>> lines_ahead(Window& window, const InputSettings& settings,
                                                   std::size_t most) {
  for (;;) {
    std::vector<std::string_view> lines;
    std::string_view rest = unread(window).substr(0, settings.max_line + 1);
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos && lines.size() < most;
         end = rest.find('\n')) {
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end + 1);
      if (lines.empty() || !(is_comment(line, settings) || is_blank(line, settings))) lines.push_back(line);
    }
    if (lines.size() == most || window.ended() || window.size() > settings.max_line) return lines;
    if (const Done read = read_more(window, settings); !read) return read.refusal();
  }
}

char delimiter_for(std::string_view line, const InputSettings& settings) noexcept {
  return settings.delimiter != 0 ? settings.delimiter : delimiter_of(line);
}

/// Whether a line of words holds units rather than names: some columns have none, or signs say so.
bool are_units(std::string_view line, char delimiter, const InputSettings& settings) {
  const LineShape shape = shape_of(line, delimiter, settings);
  return shape.any_empty || shape.cut > shape.fields || line.find_first_of("/%[") != std::string_view::npos;
}

/// Whether `line` may name the columns of the lines behind it: all have as many fields, and the first holds a
/// number, or the second where the first holds units.
bool names_columns(const std::vector<std::string_view>& lines, std::size_t line,
                   const InputSettings& settings) {
  const char delimiter = delimiter_for(lines[line], settings);
  const LineShape names = shape_of(lines[line], delimiter, settings);
  const std::size_t fewest = line == 0 ? 1 : 2;
  if (names.fields < fewest || names.all_numbers || line + 1 == lines.size()) return false;
  for (std::size_t i = line + 1; i < lines.size(); ++i) {
    const LineShape row = shape_of(lines[i], delimiter, settings);
    if (row.fields != names.fields && row.cut != names.cut) return false;
  }
  const auto holds_number = [&](std::size_t behind) {
    return line + behind < lines.size() && shape_of(lines[line + behind], delimiter, settings).any_number;
  };
  return holds_number(1) ||
         (!names.any_number && are_units(lines[line + 1], delimiter, settings) && holds_number(2));
}

/// As many fields as names, an empty one at the end counted on both sides or on none.
bool fits_names(const LineShape& names, const LineShape& row) noexcept {
  return row.fields == names.fields || row.cut == names.cut;
}

/// R writes the names of rows in front of them, and no name for these above: every row has one field more.
/// One row alone shows no habit.
bool has_row_names(const std::vector<std::string_view>& lines, char delimiter,
                   const InputSettings& settings) {
  const LineShape names = shape_of(lines[0], delimiter, settings);
  if (names.fields < 2 || names.fields != names.cut || names.any_number || lines.size() < 3) return false;
  return std::all_of(lines.begin() + 1, lines.end(), [&](std::string_view line) {
    const LineShape row = shape_of(line, delimiter, settings);
    return row.cut == names.fields + 1 && row.fields == row.cut && row.any_number;
  });
}

/// Whether a first line that could hold names is none of the table behind it: another line fits that, has
/// another number of fields and holds no number.
bool is_better_header(const std::vector<std::string_view>& lines, std::size_t line,
                      const InputSettings& settings) {
  const char delimiter = delimiter_for(lines[line], settings);
  const LineShape names = shape_of(lines[line], delimiter, settings);
  return !names.any_number && !fits_names(names, shape_of(lines[0], delimiter, settings));
}

void pass_over(Head& head, Window& window, std::string_view header) {
  const std::uint64_t begin = head.line;
  head.line += static_cast<std::uint64_t>(std::count(window.begin(), header.data(), '\n'));
  head.notes.push_back(joined({"the header seems to be line ", std::to_string(head.line),
                               ": what stands above it was "
                               "passed over (--header-line ",
                               std::to_string(begin), " takes the first)"}));
  window.consume(header.data());
}

/// Where the first line does not look like names, or the second not like a row of theirs, passes over lines
/// up to one that does.
Done skip_preamble(Head& head, Window& window, const InputSettings& settings) {
  constexpr std::size_t lines_looked_at = 32;
  const std::string_view first = unread(window).substr(0, unread(window).find('\n'));
  const LineShape shape = shape_of(first, head.delimiter, settings);
  if (!settings.header || settings.header_line != 0 || shape.fields == 0) return std::monostate{};
  const bool in_doubt =
      shape.fields == 1 || shape.any_empty || (head.delimiter == ' ' && settings.delimiter == 0);
  auto lines = lines_ahead(window, settings, 2);
  if (!lines) return lines.refusal();
  if (lines.value().size() < 2) return std::monostate{};
  const LineShape second = shape_of(lines.value()[1], head.delimiter, settings);
  const bool as_usual = in_doubt ? second.all_numbers && names_columns(lines.value(), 0, settings)
                                 : second.fields == 0 || (fits_names(shape, second) && second.any_number);
  if (as_usual) return std::monostate{};
  lines = lines_ahead(window, settings, lines_looked_at);
  if (!lines) return lines.refusal();
  head.has_row_names = has_row_names(lines.value(), head.delimiter, settings);
  if (head.has_row_names) return std::monostate{};
  for (std::size_t i = 0; i < lines.value().size(); ++i) {
    if (!names_columns(lines.value(), i, settings)) continue;
    if (i == 0) break;
    if (!in_doubt && !is_better_header(lines.value(), i, settings)) continue;
    head.delimiter = delimiter_for(lines.value()[i], settings);
    pass_over(head, window, lines.value()[i]);
    break;
  }
  return std::monostate{};
}

/// The names where they stand in the last comment above a first row of numbers; else empty.
std::vector<std::string> names_in_comment(std::string_view comment, std::string_view row, char delimiter,
                                          const InputSettings& settings) {
  const LineShape numbers = shape_of(row, delimiter, settings);
  const std::size_t begin = comment.find_first_not_of("# \t");
  if (!numbers.all_numbers || begin == std::string_view::npos) return {};
  std::string line(comment.substr(begin));
  const LineShape shape = shape_of(line, delimiter, settings);
  if (shape.fields != numbers.fields || shape.any_number || shape.any_empty) return {};
  line += '\n';
  std::vector<Field> fields;
  const char* next = nullptr;
  cut_row(line.data(), line.data() + line.size(), delimiter, fields, next);
  return names_of(fields);
}

Done read_csv_head(Head& head, Window& window, const InputSettings& settings) {
  std::vector<Field> fields;
  for (;;) {
    const bool all = window.size() <= settings.max_line;
    const char* const limit = all ? window.end() : window.begin() + settings.max_line + 1;
    const char* next = nullptr;
    const Cut cut = cut_row(window.begin(), limit, head.delimiter, fields, next);
    if (cut == Cut::open && all && !window.ended()) {
      if (const Done read = read_more(window, settings); !read) return read;
      continue;
    }
    if (cut != Cut::row)
      return bad(
          {"line ", std::to_string(head.line), ": a quoted field of the first row does not end properly"});
    if (head.has_row_names) fields.insert(fields.begin(), Field{});
    head.columns = settings.header ? names_of(fields) : numbered_columns(fields.size());
    tell_apart(head.columns);
    const auto names_end = static_cast<std::size_t>(next - window.begin());
    if (settings.header && !simdjson::validate_utf8(window.begin(), names_end))
      return bad(
          {"the names of the columns are not UTF-8: where they are Latin-1, as of old Windows programs, "
           "iconv -f "
           "LATIN1 -t UTF-8 FILE | mixstream ..."});
    if (settings.header) {
      head.last_is_unnamed = fields.size() > 1 && fields.back().bytes.empty();
      head.carriage_returns = next - window.begin() > 1 && next[-2] == '\r';
      head.header.assign(window.begin(), next - (head.carriage_returns ? 2 : 1));
      head.line += static_cast<std::uint64_t>(std::count(window.begin(), next, '\n'));
      window.consume(next);
    }
    return std::monostate{};
  }
}

/// The keys of the first object that begins within max_line bytes; nothing is consumed.
Done read_ndjson_head(Head& head, Window& window, const InputSettings& settings) {
  for (std::size_t at = 0; at <= settings.max_line;) {
    const std::string_view rest = unread(window).substr(at);
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (line.size() > settings.max_line) break;
    if (line.size() < rest.size()) {
      head.columns = keys_of(line);
      if (!head.columns.empty()) return std::monostate{};
      at += line.size() + 1;
    } else if (window.ended()) {
      return bad({"the input is empty or holds no JSON object"});
    } else if (const Done read = read_more(window, settings); !read) {
      return read;
    }
  }
  return bad({"the input does not begin with JSON objects, one per line"});
}

Done read_text_head(Head& head, Window& window, const InputSettings& settings) {
  if (const Done mark = skip_byte_order_mark(window, settings); !mark) return mark;
  std::string comment;
  if (settings.format != Format::ndjson) {
    if (const Done skipped = skip_lines(window, settings, head.line); !skipped) return skipped;
    const auto line = first_line(window, settings, head.line, comment);
    if (!line) return line.refusal();
    if (settings.format == Format::detect) {
      const auto format = format_of(line.value(), unread(window));
      if (!format) return format.refusal();
      head.format = format.value();
    }
    head.delimiter = delimiter_for(line.value(), settings);
    if (head.format == Format::csv && settings.header && !comment.empty()) {
      head.columns = names_in_comment(comment, line.value(), head.delimiter, settings);
      if (!head.columns.empty()) {
        tell_apart(head.columns);
        head.notes.push_back("the names of the columns were taken from the comment above the first row");
        return std::monostate{};
      }
    }
  }
  if (head.format == Format::ndjson) return read_ndjson_head(head, window, settings);
  if (const Done skipped = skip_preamble(head, window, settings); !skipped) return skipped;
  return read_csv_head(head, window, settings);
}

}  // namespace

Done read_more(Window& window, const InputSettings& settings) {
  const auto arrival = window.more();
  if (!arrival) return arrival.refusal();
  const bool interrupted = arrival.value().bytes == 0 && !arrival.value().end;
  if (interrupted && settings.on_wake != nullptr && !settings.on_wake()) {
    return Refusal{Reason::input_output, "interrupted while waiting for the first row"};
  }
  return std::monostate{};
}

Outcome<Head> read_head(Window& window, const InputSettings& settings) {
  Head head;
  if (settings.format != Format::detect) head.format = settings.format;
  if (head.format == Format::f64 || head.format == Format::f32) {
    head.columns = numbered_columns(settings.raw_width);
    return head;
  }
  if (const Done read = read_text_head(head, window, settings); !read) return read.refusal();
  return head;
}

}  // namespace mixstream
