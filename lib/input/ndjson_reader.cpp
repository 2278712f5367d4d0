#include "input/ndjson_reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "input/json_values.hpp"
#include "input/text.hpp"
#include "input/time.hpp"

namespace mixstream {
namespace {

namespace dom = simdjson::dom;

static_assert(Window::padding >= simdjson::SIMDJSON_PADDING);

/// The object on a line, or an error; it lives in the parser until the next line.
simdjson::simdjson_result<dom::object> object_on(dom::parser& parser, std::string_view line) noexcept {
  return parser.parse(line.data(), line.size(), false).get_object();
}

bool is_blank(std::string_view line) noexcept {
  return std::ranges::all_of(line, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
}

constexpr std::size_t deepest = 16;  // objects in objects that are looked into

void add_keys(const dom::object& object, const std::string& path, std::size_t depth,
              std::vector<std::string>& keys) {
  for (const auto field : object) {
    std::string key = path + std::string(field.key);
    dom::object inner;
    if (depth < deepest && field.value.get(inner) == simdjson::SUCCESS) {
      add_keys(inner, key + ".", depth + 1, keys);
    } else if (std::ranges::find(keys, key) == keys.end()) {
      keys.push_back(std::move(key));
    }
  }
}

}  // namespace

std::vector<std::string> keys_of(std::string_view line) {
  std::vector<std::string> keys;
  dom::parser parser;
  dom::object object;
  if (object_on(parser, line).get(object) != simdjson::SUCCESS) return keys;
  add_keys(object, "", 0, keys);
  return keys;
}

NdjsonReader::NdjsonReader(TextStart start, std::vector<std::string> columns, std::vector<ColumnUse> uses,
                           const Selection& selection, const InputSettings& settings)
    : TextReader(std::move(start), selection, settings),
      columns_(std::move(columns)),
      uses_(std::move(uses)),
      values_(columns_.size()),
      found_(columns_.size()),
      number_rules_(settings.numbers),
      code_(selection.code),
      code_context_(selection.code_context),
      keeps_lines_(selection.keep_lines) {}

const char* NdjsonReader::read_rows(const char* at, const char* stop) {
  while (at < stop && !builder().full()) {
    const auto* const newline =
        static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(window().end() - at)));
    if (static_cast<std::size_t>(newline - at) > max_line()) {
      at = refuse_line(RowFault::line_too_long, at, newline);
      continue;
    }
    if (!is_blank({at, newline})) judge_line(at, newline);
    count_lines(1);
    at = newline + 1;
  }
  return at;
}

void NdjsonReader::judge_line(const char* at, const char* newline) {
  RefusedRow refused{RowFault::bad_json, count_row(at), 0, {}, std::string_view{at, newline}, 0, 0};
  const bool carriage = newline != at && newline[-1] == '\r';
  const std::string_view line(at, newline - (carriage ? 1 : 0));
  if (keeps_lines_) refused.line = line;
  bool good = find_values(at, newline, refused);
  for (std::size_t i = 0; good && i < uses_.size(); ++i)
    good = !uses_[i].text || take_text(i, refused, refused.text);
  for (std::size_t i = 0; good && i < uses_.size(); ++i)
    good = uses_[i].number < 0 || take_number(i, refused, builder().numbers());
  if (good) {
    builder().accept(refused.place, refused.text, line);
  } else {
    builder().refuse(refused);
  }
}

/// Fills values_ from the line; false with the fault if it is no object or lacks a key.
bool NdjsonReader::find_values(const char* at, const char* newline, RefusedRow& refused) {
  if (std::memchr(at, '\0', static_cast<std::size_t>(newline - at)) != nullptr) {
    refused.fault = RowFault::binary;
    return false;
  }
  dom::object object;
  if (object_on(parser_, {at, newline}).get(object) != simdjson::SUCCESS) return false;
  std::ranges::fill(found_, 0);
  std::size_t guess = 0;
  path_.clear();
  find_values_of(object, guess, 0);
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    if (found_[i] != 0 || (uses_[i].number < 0 && !uses_[i].text)) continue;
    refused.fault = RowFault::missing_key;
    refused.column = columns_[i];
    return false;
  }
  return true;
}

void NdjsonReader::find_values_of(const dom::object& object, std::size_t& guess, std::size_t depth) {
  const std::size_t outer = path_.size();
  for (const auto field : object) {
    std::string_view key = field.key;
    dom::object inner;
    const bool nested =
        field.value.is_object() && depth < deepest && field.value.get(inner) == simdjson::SUCCESS;
    if (outer > 0 || nested) {
      path_.append(key);
      key = path_;
    }
    if (const std::size_t column = column_of(key, guess); column < columns_.size()) {
      guess = column + 1;
      values_[column] = field.value;
      found_[column] = 1;
    } else if (nested) {
      path_ += '.';
      find_values_of(inner, guess, depth + 1);
    }
    path_.resize(outer);
  }
}

/// Keys mostly come in the order of the first object, so the guess is mostly right.
std::size_t NdjsonReader::column_of(std::string_view key, std::size_t guess) const noexcept {
  if (guess < columns_.size() && columns_[guess] == key) return guess;
  return static_cast<std::size_t>(std::ranges::find(columns_, key) - columns_.begin());
}

ParsedNumber NdjsonReader::number_in(std::size_t column) {
  const ColumnUse& use = uses_[column];
  const dom::element& value = values_[column];
  if (use.coded) {
    coded_text_.clear();
    if (!append_text(value, coded_text_))
      return {value.is_null() ? NumberKind::missing : NumberKind::text, 0.0};
    return {NumberKind::number, code_(code_context_, static_cast<std::size_t>(use.number), coded_text_)};
  }
  if (!value.is_string()) return number_of(value);
  const std::string_view text = value.get_string().value_unsafe();
  if (use.time) {
    const ParsedNumber time = parse_time(text);
    if (time.kind == NumberKind::number) return time;
  }
  return parse_number(text, number_rules_);
}

bool NdjsonReader::take_number(std::size_t column, RefusedRow& refused, double* numbers) {
  const ParsedNumber parsed = number_in(column);
  numbers[uses_[column].number] = parsed.value;
  if (parsed.kind == NumberKind::number) return true;
  refused.fault = fault_of(parsed.kind);
  refused.column = columns_[column];
  refused.excerpt = excerpt_of(values_[column]);
  return false;
}

bool NdjsonReader::take_text(std::size_t column, RefusedRow& refused, std::string_view& text) {
  std::string& kept = builder().kept();
  const std::size_t begin = kept.size();
  if (append_text(values_[column], kept)) {
    text = std::string_view(kept).substr(begin);
    return true;
  }
  refused.fault = values_[column].is_null() ? RowFault::missing_value : RowFault::bad_json;
  refused.column = columns_[column];
  return false;
}

}  // namespace mixstream
