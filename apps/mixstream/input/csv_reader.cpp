#include "input/csv_reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "input/number.hpp"
#include "input/text.hpp"

namespace mixstream {
namespace {

const char* find(const char* begin, const char* end, char byte) noexcept {
  return static_cast<const char*>(std::memchr(begin, byte, static_cast<std::size_t>(end - begin)));
}

/// The row's bytes without its line end.
std::string_view line_of(const char* at, const char* next) noexcept {
  const char* const end = next - 1;
  return {at, end - (end != at && end[-1] == '\r' ? 1 : 0)};
}

}  // namespace

CsvReader::CsvReader(TextStart start, std::vector<std::string> columns, std::vector<ColumnUse> uses,
                     const Selection& selection, const InputSettings& settings)
    : TextReader(std::move(start), selection, settings),
      columns_(std::move(columns)),
      uses_(std::move(uses)),
      delimiter_(settings.delimiter),
      comment_(settings.comment),
      part_of_file_(settings.range != ByteRange{}),
      try_plain_(uses_.size() > 1 || uses_[0].number >= 0) {
  fields_.reserve(columns_.size() + 1);
}

const char* CsvReader::read_rows(const char* at, const char* stop) {
  const auto longest = static_cast<std::ptrdiff_t>(max_line()) + 1;
  while (at < stop && !builder().full()) {
    std::string_view text;
    const char* next = nullptr;
    if (try_plain_ && *at != comment_) next = plain_row(at, builder().numbers(), text);
    if (next != nullptr && next - at <= longest) {
      builder().accept(count_row(at), text, line_of(at, next));
      count_lines(1);
    } else {
      next = any_row(at);
      if (next == nullptr) break;
    }
    at = next;
  }
  return at;
}

/// A row without quotes or faults, in one go; null if it is not that simple. There is a newline ahead.
const char* CsvReader::plain_row(const char* at, double* numbers, std::string_view& text) const noexcept {
  const ColumnUse* use = uses_.data();
  const ColumnUse* const last = use + uses_.size() - 1;
  for (;; ++use, ++at) {
    const char* end;
    if (use->number >= 0) {
      end = plain_field(at, numbers[use->number]);
      if (end == nullptr) return nullptr;
    } else {
      end = field_end(at, delimiter_);
    }
    if (use->text) {
      const bool carriage = *end == '\n' && end != at && end[-1] == '\r';
      text = without_blanks({at, end - (carriage ? 1 : 0)});
    }
    at = end;
    if (use == last) break;
    if (*at != delimiter_) return nullptr;
  }
  if (*at == '\r') ++at;
  return *at == '\n' ? at + 1 : nullptr;
}

/// The number at `at` and the first byte behind its field; null if it is none.
const char* CsvReader::plain_field(const char* at, double& number) const noexcept {
  const char* end = parse_plain(at, number);
  if (end != nullptr && (*end == delimiter_ || *end == '\n' || (*end == '\r' && end[1] == '\n'))) return end;
  end = field_end(at, delimiter_);
  const bool carriage = *end == '\n' && end != at && end[-1] == '\r';
  const ParsedNumber parsed = parse_number({at, end - (carriage ? 1 : 0)});
  number = parsed.value;
  return parsed.kind == NumberKind::number ? end : nullptr;
}

/// Any row: accepts, refuses or skips it and returns the byte behind it; null if it needs more bytes.
const char* CsvReader::any_row(const char* at) {
  const char* const end = window().end();
  const char* const newline = find(at, end, '\n');
  const auto length = static_cast<std::size_t>(newline - at);
  if (length > max_line()) return refuse_line(RowFault::line_too_long, at, newline);
  if (*at == comment_ || is_blank(at, newline)) {
    count_lines(1);
    return newline + 1;
  }
  if (find(at, newline, '\0') != nullptr) return refuse_line(RowFault::binary, at, newline);

  const bool all = static_cast<std::size_t>(end - at) <= max_line();
  const char* const limit = part_of_file_ ? newline + 1 : all ? end : at + max_line() + 1;
  const char* next = nullptr;
  const Cut cut = cut_row(at, limit, delimiter_, fields_, next);
  if (cut != Cut::row) return broken_row(cut, at, newline, limit);
  judge_row(at, next);
  count_lines(static_cast<std::uint64_t>(std::count(at, next, '\n')));
  return next;
}

const char* CsvReader::broken_row(Cut cut, const char* at, const char* newline, const char* limit) {
  if (cut == Cut::open && part_of_file_) {
    fail({Reason::bad_input,
          joined({"byte ", std::to_string(count_row(at).offset),
                  ": a quoted field goes on behind the end of its line; such a file cannot be read "
                  "in parts: read it with one thread"})});
    return nullptr;
  }
  const bool more_may_close_it =
      cut == Cut::open && !window().ended() && static_cast<std::size_t>(limit - at) <= max_line();
  return more_may_close_it ? nullptr : refuse_line(RowFault::open_quote, at, newline);
}

void CsvReader::judge_row(const char* at, const char* next) {
  RefusedRow refused{
      {}, count_row(at), 0, {}, std::string_view{at, next - 1}, fields_.size(), columns_.size()};
  if (find(at, next, '\0') != nullptr) {
    refused.fault = RowFault::binary;
  } else if (fields_.size() != columns_.size()) {
    refused.fault = RowFault::ragged;
  } else if (judge_fields(refused, builder().numbers())) {
    std::string_view text;
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (uses_[i].text) text = text_of(fields_[i]);
    }
    builder().accept(refused.place, text, line_of(at, next));
    return;
  }
  builder().refuse(refused);
}

/// False with the first fault, if there is one.
bool CsvReader::judge_fields(RefusedRow& refused, double* numbers) const noexcept {
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    if (uses_[i].number < 0) continue;
    const ParsedNumber parsed = parse_number(fields_[i].bytes);
    numbers[uses_[i].number] = parsed.value;
    if (parsed.kind == NumberKind::number) continue;
    refused.fault = fault_of(parsed.kind);
    refused.column = columns_[i];
    refused.excerpt = fields_[i].bytes;
    return false;
  }
  return true;
}

std::string_view CsvReader::text_of(const Field& field) {
  if (!field.quoted) return without_blanks(field.bytes);
  if (!field.doubled) return field.bytes;
  std::string& kept = builder().kept();
  const std::size_t begin = kept.size();
  append_unquoted(field, kept);
  return std::string_view(kept).substr(begin);
}

bool CsvReader::is_blank(const char* at, const char* newline) const noexcept {
  return std::all_of(at, newline,
                     [this](char c) { return (c == ' ' || c == '\t' || c == '\r') && c != delimiter_; });
}

}  // namespace mixstream
