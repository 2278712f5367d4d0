#include "input/head.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "input/columns.hpp"
#include "input/fields.hpp"
#include "input/ndjson_reader.hpp"
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
Verdict skip_byte_order_mark(Window& window, const InputSettings& settings) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  constexpr std::array wide_marks{"\xFF\xFE"sv, "\xFE\xFF"sv};
  const auto may_become = [&](std::string_view whole) {
    return !window.ended() && window.size() < whole.size() && whole.starts_with(unread(window));
  };
  while (may_become(mark) || may_become(wide_marks[0]) || may_become(wide_marks[1])) {
    if (const Verdict read = read_more(window, settings); !read) return read;
  }
  if (unread(window).starts_with(mark)) {
    window.consume(window.begin() + mark.size());
    return std::monostate{};
  }
  for (const std::string_view wide : wide_marks) {
    if (unread(window).starts_with(wide)) {
      return bad({"the input is UTF-16 text: convert it to UTF-8 (iconv -f UTF-16)"});
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

bool is_skipped(std::string_view line, const InputSettings& settings) noexcept {
  if (settings.comment != 0 && line.starts_with(settings.comment)) return true;
  return std::ranges::all_of(
      line, [&](char c) { return (c == ' ' || c == '\t' || c == '\r') && c != settings.delimiter; });
}

/// The first line that is neither blank nor a comment, without its newline; what is before it is consumed.
Outcome<std::string_view> first_line(Window& window, const InputSettings& settings, std::uint64_t& number) {
  for (;;) {
    const std::string_view bytes = unread(window);
    const std::string_view line = bytes.substr(0, bytes.find('\n'));
    if (line.find('\0') != std::string_view::npos) return binary_input(bytes);
    if (line.size() > settings.max_line) {
      return bad(
          {"the first line is longer than ", std::to_string(settings.max_line), " bytes: is this text?"});
    }
    if (line.size() == bytes.size()) {
      if (window.ended()) return bad({"the input is empty: there is neither a header nor a row"});
      if (const Verdict read = read_more(window, settings); !read) return read.refusal();
    } else if (is_skipped(line, settings)) {
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

Verdict read_csv_head(Head& head, Window& window, const InputSettings& settings) {
  std::vector<Field> fields;
  for (;;) {
    const bool all = window.size() <= settings.max_line;
    const char* const limit = all ? window.end() : window.begin() + settings.max_line + 1;
    const char* next = nullptr;
    const Cut cut = cut_row(window.begin(), limit, head.delimiter, fields, next);
    if (cut == Cut::open && all && !window.ended()) {
      if (const Verdict read = read_more(window, settings); !read) return read;
      continue;
    }
    if (cut != Cut::row)
      return bad(
          {"line ", std::to_string(head.line), ": a quoted field of the first row does not end properly"});
    head.columns = settings.header ? names_of(fields) : numbered_columns(fields.size());
    if (settings.header) {
      head.line += static_cast<std::uint64_t>(std::count(window.begin(), next, '\n'));
      window.consume(next);
    }
    return std::monostate{};
  }
}

/// The keys of the first object that begins within max_line bytes; nothing is consumed.
Verdict read_ndjson_head(Head& head, Window& window, const InputSettings& settings) {
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
    } else if (const Verdict read = read_more(window, settings); !read) {
      return read;
    }
  }
  return bad({"the input does not begin with JSON objects, one per line"});
}

Verdict read_text_head(Head& head, Window& window, const InputSettings& settings) {
  if (const Verdict mark = skip_byte_order_mark(window, settings); !mark) return mark;
  if (settings.format != Format::ndjson) {
    const auto line = first_line(window, settings, head.line);
    if (!line) return line.refusal();
    if (settings.format == Format::detect) {
      const auto format = format_of(line.value(), unread(window));
      if (!format) return format.refusal();
      head.format = format.value();
    }
    head.delimiter = settings.delimiter != 0 ? settings.delimiter : delimiter_of(line.value());
  }
  return head.format == Format::csv ? read_csv_head(head, window, settings)
                                    : read_ndjson_head(head, window, settings);
}

}  // namespace

Verdict read_more(Window& window, const InputSettings& settings) {
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
  if (const Verdict read = read_text_head(head, window, settings); !read) return read.refusal();
  return head;
}

}  // namespace mixstream
