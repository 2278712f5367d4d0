#include "refusals.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "input/bytes.hpp"
#include "input/number_rules.hpp"

namespace mixstream {
namespace {

const char* words_of(RowFault fault) {
  switch (fault) {
    case RowFault::bad_weight:
      return "the weight is zero, negative, or outside 1e-100 to 1e15";
    case RowFault::too_large:
      return "a feature or the response is too large: its sixth power could overflow";
    case RowFault::clock_jump:
      return "the time is more than 64 half-lives away from the rows around it";
    case RowFault::not_a_number:
      return "a feature is not a number";
    case RowFault::infinite:
      return "a feature is infinite";
    default:
      return name_of(fault);
  }
}

std::string quoted(std::string_view text) {
  return fmt::format("\"{}\"", text);
}

std::string piped_through_sed(NumberStyle style, std::string_view text) {
  return fmt::format("sed '{}' FILE | mixstream ...", sed_script_for(style, text));
}

/// 05/01/2024 may be May or January.
std::string remedy_for_date(std::string_view text) {
  const std::size_t slash = text.find('/');
  const bool date = slash != std::string_view::npos && slash <= 2 && text.find('/', slash + 1) <= 5 &&
                    text.find_first_not_of("0123456789/:., ") == std::string_view::npos;
  if (!date) return {};
  return "write dates as 2024-05-01: where the month stands first, sed -E "
         "'s#([0-9]+)/([0-9]+)/([0-9]{4})#\\3-\\1-\\2#' FILE | mixstream ..., else \\3-\\2-\\1";
}

/// What to do about a text where a number should be.
std::string remedy_for_text(std::string_view column, std::string_view text) {
  using enum NumberStyle;
  if (parse_number(text).kind == NumberKind::number) {  // refused, so commas are decimal
    const bool groups = parse_number(text, NumberRules{',', '.', {}}).kind == NumberKind::number;
    return groups ? "say --thousands . too" : "its decimal sign is a point: leave out --decimal ,";
  }
  switch (style_of(text)) {
    case decimal_comma:
      return "say --decimal , for decimal commas";
    case either_comma:
      return "say --decimal , if the comma is a decimal sign, --thousands , if it stands between thousands";
    case comma_thousands:
      return "say --thousands ,";
    case point_thousands:
      return "say --decimal , --thousands .";
    case blank_thousands:
      return "say --thousands ' '";
    case blank_thousands_comma:
      return "say --decimal , --thousands ' '";
    case apostrophe_thousands:
      return "say --thousands \"'\"";
    case NumberStyle::time:
      return fmt::format("it holds times: leave it out of -x, and say --time '{}' where the time matters",
                         column);
    case with_unit:
      return "take the unit away: " + piped_through_sed(style_of(text), text);
    case with_currency:
      return "take the sign away: " + piped_through_sed(style_of(text), text);
    case other_minus:
      return "its minus sign is no hyphen: " + piped_through_sed(style_of(text), text);
    case other_exponent:
      return "its exponent is written with a D: " + piped_through_sed(style_of(text), text);
    case none:
      return remedy_for_date(text);
  }
  return {};
}

/// Whether some field is a number, whatever stands between the fields.
bool has_number(std::string_view line) {
  constexpr std::string_view between = ",;\t| \"";
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find_first_of(between, begin), line.size());
    if (end > begin && parse_number(line.substr(begin, end - begin)).kind == NumberKind::number) return true;
    begin = end + 1;
  }
  return false;
}

/// Lines with other fields than the header: comments, a header further below, or none.
std::string remedy_for_ragged(const RefusedRow& row) {
  const std::string_view line = row.excerpt.view();
  if (line.starts_with('#')) return "say --comment '#' if such lines are comments";
  const bool words = !has_number(line);
  if (row.fields > 1 && words && row.place.line > 0)
    return fmt::format("say --header-line {0} if the names of the columns stand in line {0}", row.place.line);
  if (row.fields > row.expected && row.place.line > 0)
    return fmt::format(
        "say --header-line {} --no-header if the rows begin there, and call the columns c1, c2, ...",
        row.place.line);
  return "mixstream look shows how the lines differ";
}

std::string remedy_for(const RefusedRow& row) {
  switch (row.fault) {
    case RowFault::ragged:
      return remedy_for_ragged(row);
    case RowFault::not_a_number: {
      const std::string style = remedy_for_text(row.column, row.excerpt.view());
      if (!style.empty()) return style;
      return fmt::format(
          "say --na-values '{}' if that means a missing value; choose other columns with -x, or "
          "write the column as a category, if it holds words",
          row.excerpt.view());
    }
    case RowFault::line_too_long:
      return "say --max-line with a larger number";
    case RowFault::open_quote:
      return "a quote in the text must be doubled";
    default:
      return {};
  }
}

}  // namespace

void RefusalCauses::add(const RefusedWords& refused) {
  ++rows_;
  if (!refused.missing) ++told_;
  Cause& cause = causes_[refused.cause];
  if (cause.rows++ == 0) cause.first = refused;
}

const RefusalCauses::Cause* RefusalCauses::most() const {
  const Cause* most = nullptr;
  for (const auto& [name, cause] : causes_) {
    if (most == nullptr || cause.rows > most->rows) most = &cause;
  }
  return most;
}

std::string RefusalCauses::words() const {
  const Cause* cause = most();
  if (cause == nullptr) return {};
  const std::string share = cause->rows == rows_ ? "" : fmt::format("{} of them: ", cause->rows);
  const std::string remedy = cause->first.remedy.empty() ? "" : "; " + cause->first.remedy;
  return share + cause->first.words + remedy;
}

const std::string& RefusalCauses::remedy() const {
  static const std::string none;
  return most() == nullptr ? none : most()->first.remedy;
}

std::string with_place(const RefusedWords& refused, const std::string& path) {
  if (refused.place.line > 0) return fmt::format("line {}: {}", refused.place.line, refused.words);
  if (path != "-") {
    const Outcome<std::uint64_t> line = line_number_at(path, refused.place.offset);
    if (line) return fmt::format("line {}: {}", line.value(), refused.words);
  }
  return fmt::format("byte {}: {}", refused.place.offset, refused.words);
}

bool RefusalListener::judge(RefusedWords refused) {
  tell(refused);
  return !refused.fatal;
}

bool RefusalListener::refused(const RefusedRow& row) {
  const bool missing = row.fault == RowFault::missing_value;
  const bool fatal = policy_.strict || (missing && policy_.missing_is_error);
  std::string words = describe(row);
  words.erase(0, words.find(": ") + 2);  // the place, which a range does not know
  std::string cause = name_of(row.fault);
  if (!row.column.empty()) cause += " " + quoted(row.column);
  if (row.fault == RowFault::ragged) cause += fmt::format(" {}", row.fields);
  if (row.fault == RowFault::ragged && row.excerpt.view().starts_with('#')) cause += " #";
  return judge({row.place, std::move(words), fatal, missing && !fatal, std::move(cause), remedy_for(row)});
}

bool RefusalListener::refused(RowFault fault, const RowPlace& place) {
  return judge({place, words_of(fault), policy_.strict, false, name_of(fault)});
}

bool RefusalListener::refused_feature(std::string words, const RowPlace& place, bool expected) {
  const bool fatal = policy_.strict && !expected;
  return judge({place, std::move(words), fatal, expected, expected ? "no_earlier_row" : "undefined_feature"});
}

bool RefusalListener::refused_group(std::string_view group, const RowPlace& place) {
  return judge({place, fmt::format("group \"{}\" is one too many", group), policy_.strict, false,
                "too_many_groups", "say --max-groups with a larger number"});
}

}  // namespace mixstream
