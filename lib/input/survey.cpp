#include "input/survey.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "input/json_values.hpp"
#include "input/text.hpp"
#include "input/time.hpp"

namespace mixstream {
namespace {

/// How many values a category has at most.
constexpr std::size_t most_levels = 32;
/// Whole numbers of so few values, each in so many rows on average, are called a code.
constexpr std::size_t most_codes = 10;
constexpr std::uint64_t rows_a_code = 6;

bool sounds_like_time(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string_view word : {"time", "date", "epoch", "seconds", "stamp", "ts"}) {
    if (lower == word || lower.starts_with(word) || (word.size() > 3 && lower.ends_with(word))) return true;
  }
  return false;
}

}  // namespace

const char* name_of(ColumnKind kind) noexcept {
  switch (kind) {
    case ColumnKind::empty:
      return "empty";
    case ColumnKind::number:
      return "number";
    case ColumnKind::time:
      return "time";
    case ColumnKind::category:
      return "category";
    case ColumnKind::text:
      return "text";
    case ColumnKind::constant:
      return "constant";
    case ColumnKind::identifier:
      return "identifier";
  }
  return "unknown";
}

int StepCounts::bin_of(double step) noexcept {
  return std::clamp(bins / 2 + static_cast<int>(std::lround(8.0 * std::log2(step))), 0, bins - 1);
}

void StepCounts::add(double step) noexcept {
  if (step < 0.0) ++backward_;
  if (!(step > 0.0)) return;
  ++steps_;
  const auto bin = static_cast<std::size_t>(bin_of(step));
  if (counts_[bin]++ == 0) examples_[bin] = step;
  longest_ = std::max(longest_, step);
}

double StepCounts::median() const noexcept {
  std::uint64_t below = 0;
  for (int bin = 0; bin < bins; ++bin) {
    below += counts_[static_cast<std::size_t>(bin)];
    if (2 * below >= steps_ && below > 0) return examples_[static_cast<std::size_t>(bin)];
  }
  return 0.0;
}

std::uint64_t StepCounts::longer_than(double step) const noexcept {
  std::uint64_t count = 0;
  for (int bin = bin_of(step) + 1; bin < bins; ++bin) count += counts_[static_cast<std::size_t>(bin)];
  return count;
}

void ColumnSurvey::add(std::string_view text) {
  text = without_blanks(text);
  ++rows_;
  count_value(text);
  const ParsedNumber parsed = parse_number(text, *rules_);
  if (parsed.kind == NumberKind::missing) {
    ++missing_;
    return;
  }
  if (parsed.kind == NumberKind::number) {
    ++numbers_;
    if (text.find('.') != std::string_view::npos) {
      ++points_;
      point_groups_ += parse_number(text, NumberRules{',', '.', {}}).kind == NumberKind::number ? 1 : 0;
    }
    count_number(parsed.value);
    return;
  }
  if (const ParsedNumber time = parse_time(text); time.kind == NumberKind::number) {
    ++times_;
    count_number(time.value);
    return;
  }
  ++texts_;
  const NumberStyle style = style_of(text);
  ++styles_[static_cast<std::size_t>(style)];
  if (style == NumberStyle::none) {
    if (words_.size() < 8) words_.emplace(text);
  } else if (example_.empty()) {
    example_ = text;
  }
}

void ColumnSurvey::add(double number) {
  ++rows_;
  if (!std::isfinite(number)) {
    ++missing_;
    return;
  }
  ++numbers_;
  run_ = number == last_ ? run_ + 1 : 1;
  if (run_ > longest_run_) {
    longest_run_ = run_;
    longest_run_row_ = rows_ - run_ + 1;
  }
  count_number(number);
}

void ColumnSurvey::count_value(std::string_view text) {
  run_ = rows_ > 1 && text == last_value_ ? run_ + 1 : 1;
  last_value_ = text;
  if (text.empty()) return;
  if (run_ > longest_run_) {
    longest_run_ = run_;
    longest_run_row_ = rows_ - run_ + 1;
  }
  if (values_.size() < most_values)
    values_.emplace(text);
  else
    more_values_ = more_values_ || !values_.contains(text);
}

void ColumnSurvey::count_number(double number) {
  least_ = std::min(least_, number);
  greatest_ = std::max(greatest_, number);
  whole_ = whole_ && std::trunc(number) == number;
  if (!std::isnan(last_)) {
    steps_.add(number - last_);
    counts_up_ = counts_up_ && number == last_ + 1.0;
  }
  last_ = number;
}

/// Times in writing, or numbers that grow, are called a time and could be one.
bool ColumnSurvey::is_time() const {
  if (2 * times_ > rows_ - missing_) return true;
  return numbers_ > 2 && 2 * numbers_ > rows_ - missing_ && sounds_like_time(name_) &&
         steps_.backward() == 0 && least_ >= 0.0 && greatest_ > least_;
}

/// A number of the row, whatever the column's first.
bool ColumnSurvey::counts_rows() const {
  return counts_up_ && numbers_ > 2 && numbers_ == rows_ && std::trunc(least_) == least_;
}

bool ColumnSurvey::is_code() const noexcept {
  return whole_ && numbers_ > 0 && texts_ + times_ == 0 && !more_values_ && values_.size() <= most_codes &&
         rows_ - missing_ >= rows_a_code * values_.size();
}

ColumnKind ColumnSurvey::kind() const {
  const std::uint64_t there = rows_ - missing_;
  if (there == 0) return ColumnKind::empty;
  if (is_time()) return ColumnKind::time;
  if (there > 1 && values_.size() == 1 && !more_values_) return ColumnKind::constant;
  const std::uint64_t styled = texts_ - styles_[0];
  if (2 * (numbers_ + styled) > there) {
    if (there > 1 && styled == 0 && texts_ == 0 && least_ == greatest_) return ColumnKind::constant;
    return counts_rows() ? ColumnKind::identifier : ColumnKind::number;
  }
  if (!more_values_ && values_.size() <= most_levels && (values_.size() < there || there < 4))
    return ColumnKind::category;
  const bool all_different = there > 4 && (values_.size() == there || (more_values_ && longest_run_ == 1));
  return all_different ? ColumnKind::identifier : ColumnKind::text;
}

NumberStyle ColumnSurvey::style() const {
  const auto most = std::max_element(styles_.begin() + 1, styles_.end());
  if (*most == 0 || 2 * (texts_ - styles_[0]) < texts_) return NumberStyle::none;
  // 1,234 alone says nothing; beside 1,5 it is a decimal comma
  const auto style = static_cast<NumberStyle>(most - styles_.begin());
  if (style != NumberStyle::either_comma) return style;
  const auto count = [&](NumberStyle of) { return styles_[static_cast<std::size_t>(of)]; };
  if (count(NumberStyle::decimal_comma) > 0) return NumberStyle::decimal_comma;
  return count(NumberStyle::comma_thousands) > 0 ? NumberStyle::comma_thousands : style;
}

std::vector<std::string> ColumnSurvey::words_among_numbers() const {
  constexpr std::size_t most_words = 3;
  const std::uint64_t words = styles_[0];
  const std::uint64_t numbers = numbers_ + texts_ - words;
  if (numbers <= words || words_.empty() || words_.size() > most_words) return {};
  return {words_.begin(), words_.end()};
}

bool ColumnSurvey::has_point_groups() const noexcept {
  return points_ > 0 && points_ == point_groups_;
}

struct LineFields::Json {
  simdjson::dom::parser parser;
  std::string path;
};

LineFields::LineFields(Format format, char delimiter, std::vector<std::string> columns)
    : format_(format), delimiter_(delimiter), columns_(std::move(columns)), json_(std::make_unique<Json>()) {}

LineFields::~LineFields() = default;

const std::vector<std::string>& LineFields::cut(std::string_view line) {
  texts_.clear();
  const std::size_t end = line.size() - (line.ends_with('\r') ? 1 : 0);  // where it is cut, too
  if (without_blanks(line.substr(0, end)).empty()) return texts_;
  if (format_ == Format::csv)
    cut_csv(line);
  else
    cut_json(line);
  return texts_;
}

void LineFields::cut_csv(std::string_view line) {
  line_.assign(line).append(1, '\n');
  const char* next = nullptr;
  if (cut_row(line_.data(), line_.data() + line_.size(), delimiter_, fields_, next) != Cut::row) return;
  if (fields_.size() == columns_.size() + 1 && fields_.back().bytes.empty()) fields_.pop_back();
  if (fields_.size() != columns_.size() && fields_.size() + 1 != columns_.size()) return;
  texts_.resize(columns_.size());
  for (std::size_t i = 0; i < fields_.size(); ++i) append_unquoted(fields_[i], texts_[i]);
}

void LineFields::cut_json(std::string_view line) {
  simdjson::dom::object object;
  if (json_->parser.parse(line.data(), line.size()).get_object().get(object) != simdjson::SUCCESS) return;
  texts_.resize(columns_.size());
  const auto walk = [&](const auto& self, const simdjson::dom::object& inner,
                        const std::string& path) -> void {
    for (const auto field : inner) {
      const std::string key = path + std::string(field.key);
      const auto found = std::ranges::find(columns_, key);
      simdjson::dom::object deeper;
      if (found != columns_.end())
        append_text(field.value, texts_[static_cast<std::size_t>(found - columns_.begin())]);
      else if (path.size() < 1000 && field.value.get(deeper) == simdjson::SUCCESS)
        self(self, deeper, key + ".");
    }
  };
  walk(walk, object, "");
}

Outcome<std::vector<ColumnSurvey>> survey(Input& input, const NumberRules& rules, std::size_t lines) {
  std::vector<ColumnSurvey> columns;
  if (input.format() != Format::csv && input.format() != Format::ndjson) return columns;
  for (const std::string& name : input.columns()) columns.emplace_back(name, rules);
  const auto bytes = input.first_lines(lines);
  if (!bytes) return bytes.refusal();
  LineFields fields(input.format(), input.delimiter(), input.columns());
  std::string_view rest = bytes.value();
  for (std::size_t row = 0; !rest.empty(); ++row) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1);
    const std::vector<std::string>& texts = fields.cut(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    const bool units = row == 0 && !texts.empty() && std::ranges::all_of(texts, [&](const std::string& text) {
                         return text.empty() || may_be_unit(text, rules);
                       });
    if (units && !rest.empty()) continue;  // one row of words more or less decides nothing
    for (std::size_t i = 0; i < texts.size(); ++i) columns[i].add(texts[i]);
  }
  return columns;
}

}  // namespace mixstream
