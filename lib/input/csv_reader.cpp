#include "input/csv_reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "input/number.hpp"
#include "input/text.hpp"
#include "input/time.hpp"

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

/// The number at `at` and the first byte behind its field; null if it is none.
const char* plain_field(const char* at, char delimiter, double& number) noexcept {
  const char* end = parse_plain(at, number);
  if (end != nullptr && (*end == delimiter || *end == '\n' || (*end == '\r' && end[1] == '\n'))) return end;
  end = field_end(at, delimiter);
  const bool carriage = *end == '\n' && end != at && end[-1] == '\r';
  const ParsedNumber parsed = parse_number({at, end - (carriage ? 1 : 0)});
  number = parsed.value;
  return parsed.kind == NumberKind::number ? end : nullptr;
}

bool can_read_many() noexcept {
#if defined(MIXSTREAM_PLAIN_ROWS)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi") != 0;
#else
  return false;
#endif
}

/// Fields that are read without being cut out first: numbers as programs write them. Between runs of blanks
/// an unread field could hide where its row goes wrong.
bool can_be_plain(const std::vector<ColumnUse>& uses, const InputSettings& settings) {
  if (!settings.numbers.plain()) return false;
  return settings.delimiter != ' ' ||
         std::ranges::all_of(uses, [](const ColumnUse& use) { return use.number >= 0 && !use.coded; });
}

// Bytes to read at once behind a row that was not plain; then twice as many each time, up to the most.
constexpr std::size_t least_calm = 1 << 9;
constexpr std::size_t most_calm = 1 << 16;

}  // namespace

CsvReader::CsvReader(TextStart start, std::vector<std::string> columns, std::vector<ColumnUse> uses,
                     const Selection& selection, const InputSettings& settings, CsvHead head)
    : TextReader(std::move(start), selection, settings),
      columns_(std::move(columns)),
      uses_(std::move(uses)),
      rules_{settings.delimiter, settings.comment, settings.max_line},
      number_rules_(settings.numbers),
      code_(selection.code),
      code_context_(selection.code_context),
      keeps_lines_(selection.keep_lines),
      last_is_unnamed_(head.last_is_unnamed),
      below_header_(head.below_header),
      try_plain_((uses_.size() > 1 || uses_[0].number >= 0) && can_be_plain(uses_, settings)),
      try_many_(try_plain_ && selection.text.empty() && selection.coded.empty() && !selection.keep_lines &&
                can_read_many()),
      begins_(try_many_ ? settings.batch_rows : 0),
      calm_(least_calm) {
  fields_.reserve(columns_.size() + 1);
  for (const ColumnUse& use : uses_) number_places_.push_back(use.number);
}

const char* CsvReader::read_rows(const char* at, const char* stop) {
  while (at < stop && !builder().full()) {
    if (try_many_) at = many_rows(at, stop);
    if (at >= stop || builder().full()) break;
    const char* const next = one_row(at);
    if (next == nullptr) break;
    at = next;
  }
  return at;
}

/// Plain rows up to the first other one, up to `stop`, or while there is room.
const char* CsvReader::many_rows(const char* at, const char* stop) {
#if defined(MIXSTREAM_PLAIN_ROWS)
  const variants::PlainColumns columns{
      number_places_.data(), uses_.size(), builder().width(), rules_.delimiter,
      rules_.comment,        plain_field,  field_end};
  while (at < stop && !builder().full()) {
    const auto bytes = std::min(calm_, static_cast<std::size_t>(stop - at));
    const variants::PlainRows read =
        plain_rows_avx2(at, at + bytes, columns, {builder().numbers(), begins_.data(), builder().room()});
    for (std::size_t i = 0; i < read.rows; ++i) {
      const char* const row = at + begins_[i];
      const char* const next = i + 1 < read.rows ? at + begins_[i + 1] : read.next;
      if (static_cast<std::size_t>(next - row) > max_line() + 1) return row;
      builder().accept(count_row(row), {}, {});
      count_lines(1);
    }
    calm_ = read.odd ? least_calm : std::min(2 * calm_, most_calm);
    at = read.next;
    if (read.odd) break;
  }
#endif
  return at;
}

/// Any row: in one go if it is plain. Returns the byte behind it; null if it needs more bytes.
const char* CsvReader::one_row(const char* at) {
  std::string_view text;
  const char* next = nullptr;
  if (try_plain_ && (rules_.comment == 0 || *at != rules_.comment))
    next = plain_row(at, builder().numbers(), text);
  if (next == nullptr || static_cast<std::size_t>(next - at) > max_line() + 1) return any_row(at);
  builder().accept(count_row(at), text, line_of(at, next));
  count_lines(1);
  return next;
}

/// A row without quotes or faults, in one go; null if it is not that simple. There is a newline ahead.
const char* CsvReader::plain_row(const char* at, double* numbers, std::string_view& text) const noexcept {
  const ColumnUse* use = uses_.data();
  const ColumnUse* const last = use + uses_.size() - 1;
  for (;; ++use, ++at) {
    const char* end;
    if (use->number >= 0 && !use->coded) {
      end = plain_field(at, rules_.delimiter, numbers[use->number]);
      if (end == nullptr) return nullptr;
    } else {
      end = field_end(at, rules_.delimiter);
    }
    if (use->text || use->coded) {
      const bool carriage = *end == '\n' && end != at && end[-1] == '\r';
      const std::string_view field = without_blanks({at, end - (carriage ? 1 : 0)});
      if (use->text) text = field;
      if (use->coded && field.empty()) return nullptr;
      if (use->coded)
        numbers[use->number] = code_(code_context_, static_cast<std::size_t>(use->number), field);
    }
    at = end;
    if (use == last) break;
    if (*at != rules_.delimiter) return nullptr;
  }
  if (*at == '\r') ++at;
  return *at == '\n' ? at + 1 : nullptr;
}

/// Any row: accepts, refuses or skips it and returns the byte behind it; null if it needs more bytes.
const char* CsvReader::any_row(const char* at) {
  const CsvRow row = judge_csv_row(at, window().end(), window().ended(), rules_, fields_);
  switch (row.kind) {
    case CsvRowKind::row:
      judge_row(at, row.next);
      count_lines(static_cast<std::uint64_t>(std::count(at, row.next, '\n')));
      break;
    case CsvRowKind::skipped:
      count_lines(1);
      break;
    case CsvRowKind::comment:
      builder().count_comment();
      count_lines(1);
      break;
    case CsvRowKind::too_long:
      return refuse_line(RowFault::line_too_long, at, row.newline);
    case CsvRowKind::binary:
      return refuse_line(RowFault::binary, at, row.newline);
    case CsvRowKind::broken:
      return refuse_line(RowFault::open_quote, at, row.newline);
    case CsvRowKind::needs_more:
      break;
  }
  return row.next;
}

void CsvReader::judge_row(const char* at, const char* next) {
  if (offset_of(at) == below_header_ && is_units()) return builder().pass_over_units(line());
  const bool whole = fields_.size() == columns_.size() || mend_trailing_delimiter();
  RefusedRow refused{
      {}, count_row(at), 0, {}, std::string_view{at, next - 1}, fields_.size(), columns_.size()};
  if (keeps_lines_) refused.line = line_of(at, next);
  if (find(at, next, '\0') != nullptr) {
    refused.fault = RowFault::binary;
  } else if (!whole) {
    refused.fault = RowFault::ragged;
  } else {
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (uses_[i].text) refused.text = text_of(fields_[i]);
    }
    if (judge_fields(refused, builder().numbers())) {
      builder().accept(refused.place, refused.text, line_of(at, next));
      return;
    }
  }
  builder().refuse(refused);
}

/// Rows, or the header, may end with a delimiter behind the last field.
bool CsvReader::mend_trailing_delimiter() {
  if (fields_.size() == columns_.size() + 1 && fields_.back().bytes.empty() && !fields_.back().quoted) {
    fields_.pop_back();
    return true;
  }
  if (!last_is_unnamed_ || fields_.size() + 1 != columns_.size()) return false;
  fields_.emplace_back();
  return true;
}

/// A row of words below the header, such as s,kW,: nowhere a number, a time or a word for a missing value,
/// and a word where a number is wanted.
bool CsvReader::is_units() const noexcept {
  if (fields_.size() != columns_.size()) return false;
  bool any = false;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const std::string_view field = without_blanks(fields_[i].bytes);
    const bool wanted = uses_[i].number >= 0 && !uses_[i].coded;
    if (field.empty()) continue;
    if (!may_be_unit(field, number_rules_)) return false;
    any = any || wanted;
  }
  return any;
}

ParsedNumber CsvReader::number_in(std::size_t column) {
  const ColumnUse& use = uses_[column];
  const Field& field = fields_[column];
  if (use.coded) {
    const std::string_view text = text_of(field);
    if (text.empty()) return {NumberKind::missing, 0.0};
    return {NumberKind::number, code_(code_context_, static_cast<std::size_t>(use.number), text)};
  }
  if (use.time) {
    const ParsedNumber time = parse_time(field.bytes);
    if (time.kind == NumberKind::number) return time;
  }
  return parse_number(field.bytes, number_rules_);
}

/// False with the first fault, if there is one.
bool CsvReader::judge_fields(RefusedRow& refused, double* numbers) {
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    if (uses_[i].number < 0) continue;
    const ParsedNumber parsed = number_in(i);
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

}  // namespace mixstream
