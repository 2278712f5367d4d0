#include "column_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "mixstream/tensor/spectral.hpp"

namespace mixstream {
namespace {

constexpr std::size_t lines_for_kinds = 64;
constexpr std::size_t lines_for_levels = 1000;
constexpr std::size_t most_named = 8;  // columns in a note
constexpr std::size_t most_features = largest_solved_dimension;
constexpr std::size_t most_proposed = 15;  // in a call to copy

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

Refusal refuse(std::string text) {
  return {Reason::bad_settings, std::move(text)};
}

/// Without the backquotes that a name may stand between.
std::string bare(const std::string& name) {
  const bool quoted = name.size() > 2 && name.front() == '`' && name.back() == '`';
  if (!quoted) return name;
  std::string inside;
  for (std::size_t i = 1; i + 1 < name.size(); ++i) {
    inside += name[i];
    if (name[i] == '`' && name[i + 1] == '`') ++i;
  }
  return inside;
}

/// A part of a date is measured by nobody.
bool names_part_of_date(const ColumnSurvey& column) {
  std::string lower = column.name();
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::string_view parts[] = {"year", "month", "week", "weekday", "day", "hour", "minute"};
  return std::ranges::find(parts, lower) != std::end(parts);
}

/// What is said of a column holds for the rows that were looked at.
std::string so_far(const ColumnSurvey& column) {
  return column.rows() < lines_for_kinds - 1 ? "" : fmt::format(" in the first {} rows", column.rows());
}

std::string why_left_out(const ColumnSurvey& column) {
  const std::string name = as_word(column.name());
  switch (column.kind()) {
    case ColumnKind::time:
      return fmt::format("{} (times; --time {} uses them)", name, name);
    case ColumnKind::category:
      return fmt::format("{} ({} values{}; --group {}, --sensor {}, or write it in -x)", name,
                         column.values().size(), so_far(column), name, name);
    case ColumnKind::constant:
      return fmt::format("{} (always \"{}\"{})", name, *column.values().begin(), so_far(column));
    case ColumnKind::identifier:
      return fmt::format("{} ({})", name, column.numbers() > 0 ? "numbers the rows" : "another in each row");
    case ColumnKind::empty:
      return fmt::format("{} (empty)", name);
    default:
      return fmt::format("{} (text)", name);
  }
}

std::string listed(const std::vector<std::string>& names, std::string_view between) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most_named); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : between, names[i]);
  if (names.size() > most_named) text += fmt::format("{}{} more", between, names.size() - most_named);
  return text;
}

/// More columns of numbers than a fit takes: the way on.
Refusal too_many(const std::vector<std::string>& taken, const std::string& response) {
  return refuse(fmt::format(
      "{} columns of numbers beside {} are too many: a fit takes {} features, the constant among them; "
      "choose those that "
      "matter, such as -y {} -x {}; mixstream look FILE shows them all",
      taken.size(), as_word(response), most_features, as_word(response), as_word(proposed_features(taken))));
}

/// Everything that is a number, and says so.
Outcome<ColumnChoice> choose_all(const std::vector<ColumnSurvey>& columns, const WantedColumns& wanted,
                                 const std::string& response) {
  ColumnChoice choice;
  choice.response = response;
  std::vector<std::string> taken;
  std::vector<std::string> left_out;
  for (const ColumnSurvey& column : columns) {
    if (column.name() == response || contains(wanted.others, column.name())) continue;
    if (column.kind() == ColumnKind::number)
      taken.push_back(column.name());
    else
      left_out.push_back(why_left_out(column));
  }
  if (taken.size() >= most_features) return too_many(taken, response);
  Outcome<FeatureMap> map = FeatureMap::plain(taken);
  if (!map) return map.refusal();
  choice.map = std::move(map).value();
  if (left_out.empty()) return choice;
  std::vector<std::string> features{"1"};
  for (const std::string& name : taken) features.push_back(spelled_column(name));
  choice.notes.push_back(fmt::format("-y {} -x '{}' were taken; left out: {}", as_word(response),
                                     listed(features, ","), listed(left_out, ", ")));
  return choice;
}

/// The columns of numbers by name that hold texts instead: their values, if there are few.
Outcome<ColumnLevels> levels_of(Input& input, const FeatureMap& map, const NumberRules& rules) {
  ColumnLevels levels;
  const auto may_be_text = [&](const ColumnSurvey& column) {
    const auto found = std::ranges::find(map.columns(), column.name());
    if (found == map.columns().end() || map.is_text(static_cast<std::size_t>(found - map.columns().begin())))
      return false;
    return column.kind() == ColumnKind::category ||
           (column.numbers() == 0 && column.texts() > 0 && column.style() == NumberStyle::none);
  };
  auto first = survey(input, rules, 2);
  if (!first) return first.refusal();
  if (std::ranges::none_of(first.value(), may_be_text)) return levels;
  auto more = survey(input, rules, lines_for_levels);
  if (!more) return more.refusal();
  for (const ColumnSurvey& column : more.value()) {
    const bool named = contains(map.columns(), column.name());
    if (!named || !may_be_text(column)) continue;
    if (column.kind() == ColumnKind::identifier || column.kind() == ColumnKind::text)
      return refuse(fmt::format("column \"{}\" holds texts of more than {} kinds: leave it out of -x",
                                column.name(), FeatureMap::most_levels));
    levels[column.name()] = {column.values().begin(), column.values().end()};
    std::erase_if(levels[column.name()], [&](const std::string& text) {
      return parse_number(text, rules).kind == NumberKind::missing;
    });
  }
  return levels;
}

/// The fields of a line, as names.
class LineNames {
 public:
  LineNames(std::string_view line, char delimiter) {
    std::string with_end(line);
    with_end += '\n';
    std::vector<Field> fields;
    const char* next = nullptr;
    if (cut_row(with_end.data(), with_end.data() + with_end.size(), delimiter, fields, next) != Cut::row)
      return;
    for (const Field& field : fields) append_unquoted(field, names_.emplace_back());
  }

  bool has(const std::string& name) const { return !name.empty() && contains(names_, name); }
  bool any_in(const std::string& text) const {
    return std::ranges::any_of(names_, [&](const std::string& name) {
      return name.size() > 1 && text.find(name) != std::string::npos;
    });
  }

 private:
  std::vector<std::string> names_;
};

bool uses_column(const FeatureMap& map, const std::string& name) {
  const auto found = std::ranges::find(map.columns(), name);
  return found != map.columns().end() && map.uses(static_cast<std::size_t>(found - map.columns().begin()));
}

/// Where the names that were asked for stand further below: what to say; else nothing.
std::string header_below(Input& input, const WantedColumns& wanted) {
  constexpr std::size_t lines_looked_at = 32;
  if (input.format() != Format::csv) return {};
  const auto bytes = input.first_lines(lines_looked_at);
  if (!bytes) return {};
  std::string_view rest = bytes.value();
  for (std::uint64_t line = input.first_line(); !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1);
    LineNames names(rest.substr(0, end), input.delimiter());
    rest.remove_prefix(end + 1);
    if (names.has(wanted.response) || (wanted.response.empty() && names.any_in(wanted.features)))
      return fmt::format("; say --header-line {0} if the names of the columns stand in line {0}", line);
  }
  return {};
}

/// The map that was asked for.
Outcome<ColumnChoice> choose_asked(Input& input, const WantedColumns& wanted, const std::string& response,
                                   const NumberRules& rules) {
  Outcome<FeatureMap> map = FeatureMap::parse(wanted.features, input.columns());
  if (!map) return Refusal{map.refusal().reason, map.refusal().text + header_below(input, wanted)};
  const std::vector<std::string> columns = input.columns();
  Outcome<FeatureMap> used = FeatureMap::parse(map.value().text());  // over the columns in use
  if (!used) return used.refusal();
  if (uses_column(used.value(), response))
    return refuse(
        fmt::format("\"{}\" is the response, and stands in -x too: only lag(...) of it may", response));
  const Outcome<ColumnLevels> levels = levels_of(input, used.value(), rules);
  if (!levels) return levels.refusal();
  ColumnChoice choice{std::move(used).value(), response, {}};
  if (levels.value().empty()) return choice;
  map = FeatureMap::parse(wanted.features, columns, levels.value());
  if (!map) return map.refusal();
  choice.map = FeatureMap::parse(map.value().text()).value();
  for (const auto& [name, values] : levels.value())
    choice.notes.push_back(fmt::format("{} is a category of {} values, measured against \"{}\"",
                                       as_word(name), values.size(), values.front()));
  return choice;
}

}  // namespace

std::string as_word(const std::string& name) {
  const bool plain = name.find_first_of(" ()[]{}<>'\"\\$&;|*?#~`!%") == std::string::npos && !name.empty();
  if (plain) return name;
  std::string quoted = "'";
  for (const char c : name) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string likely_response(const std::vector<ColumnSurvey>& columns,
                            const std::vector<std::string>& others) {
  std::string last;
  std::string measured;
  for (const ColumnSurvey& column : columns) {
    if (column.kind() != ColumnKind::number || contains(others, column.name())) continue;
    for (const char* name : {"y", "Y", "target", "response"}) {
      if (column.name() == name) return column.name();
    }
    last = column.name();
    if (!column.is_code() && !names_part_of_date(column)) measured = column.name();
  }
  return measured.empty() ? last : measured;
}

std::string proposed_features(const std::vector<std::string>& columns) {
  std::string features = "1";
  for (std::size_t i = 0; i < std::min(columns.size(), most_proposed); ++i)
    features += "," + spelled_column(columns[i]);
  return features;
}

Outcome<ColumnChoice> choose_columns(Input& input, const WantedColumns& wanted, const NumberRules& rules) {
  std::string response = bare(wanted.response);
  if (!wanted.features.empty() && !response.empty()) return choose_asked(input, wanted, response, rules);
  auto columns = survey(input, rules, lines_for_kinds);
  if (!columns) return columns.refusal();
  const bool known = !columns.value().empty() && columns.value()[0].rows() > 0;
  if (!known) {  // raw rows, or none yet
    for (const std::string& name : input.columns()) {
      columns.value().emplace_back(name, rules);
      columns.value().back().add(0.0);
      columns.value().back().add(0.5);
    }
    columns.value().erase(columns.value().begin(),
                          columns.value().end() - static_cast<std::ptrdiff_t>(input.columns().size()));
  }
  if (response.empty()) response = likely_response(columns.value(), wanted.others);
  if (response.empty())
    return refuse(
        "no column holds numbers as they are: mixstream look FILE shows what there is, and how to read it");
  if (wanted.features.empty()) return choose_all(columns.value(), wanted, response);
  return choose_asked(input, wanted, response, rules);
}

}  // namespace mixstream
