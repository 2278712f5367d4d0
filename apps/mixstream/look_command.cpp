#include "look_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "column_choice.hpp"
#include "exit_codes.hpp"
#include "input/time.hpp"
#include "mixstream/report/counted.hpp"
#include "output.hpp"
#include "signals.hpp"
#include "words.hpp"

namespace mixstream {
namespace {

constexpr std::size_t most_shown = 40;    // columns in the table
constexpr std::size_t values_shown = 4;   // of a category
constexpr double gap_steps = 3.0;         // medians; a longer step is a gap
constexpr std::uint64_t stuck_rows = 20;  // of the same number, one after the other

/// Everything that was seen of one file.
struct Sight {
  std::vector<ColumnSurvey> columns;
  std::vector<std::string> notes;
  Format format = Format::csv;
  char delimiter = ',';
  std::uint64_t rows = 0;
  std::uint64_t ragged = 0;
  std::uint64_t comments = 0;
};

const char* name_of(Format format) {
  return format == Format::csv ? "CSV" : format == Format::ndjson ? "NDJSON" : "raw rows";
}

std::string seconds_in_words(double seconds) {
  constexpr std::pair<double, const char*> units[] = {
      {86400.0, "d"}, {3600.0, "h"}, {60.0, "min"}, {1.0, "s"}};
  for (const auto& [length, name] : units) {
    if (seconds >= 0.95 * length) return fmt::format("{:.3g} {}", seconds / length, name);
  }
  return fmt::format("{:.3g} s", seconds);
}

std::string time_in_words(double seconds) {
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, size};
}

class Looker {
 public:
  Looker(const LookCommand& command, InputSettings settings)
      : command_(command), settings_(std::move(settings)) {}

  Outcome<Sight> look(const std::string& path) {
    Outcome<Input> opened = open_input(path, settings_);
    if (!opened) return opened.refusal();
    Input& input = opened.value();
    Sight sight{{}, input.notes(), input.format(), input.delimiter()};
    for (const std::string& name : input.columns()) sight.columns.emplace_back(name, settings_.numbers);
    const bool text = input.format() == Format::csv || input.format() == Format::ndjson;
    LineFields fields(input.format(), input.delimiter(), input.columns());
    Selection selection;
    selection.keep_lines = text;
    if (!text) selection.numbers = input.columns();
    auto reader = std::move(input).select(selection);
    if (!reader) return reader.refusal();
    while (end_requested() == 0) {
      const Outcome<Batch> batch = reader.value()->next();
      if (!batch) return batch.refusal();
      sight.comments += batch.value().comments;
      if (batch.value().end) break;
      add(batch.value(), text, fields, sight);
    }
    return sight;
  }

 private:
  void add(const Batch& batch, bool text, LineFields& fields, Sight& sight) {
    sight.ragged += batch.refused.size();
    for (std::size_t i = 0; i < batch.rows; ++i) {
      if (!text) {
        for (std::size_t c = 0; c < sight.columns.size(); ++c) sight.columns[c].add(batch.values(i)[c]);
        ++sight.rows;
        continue;
      }
      const std::vector<std::string>& texts = fields.cut(batch.lines[i]);
      if (texts.empty()) continue;
      if (sight.rows == 0 && !units_seen_ && is_units(texts)) {
        units_seen_ = true;
        sight.notes.push_back(fmt::format("line {} holds units", batch.places[i].line));
        continue;
      }
      ++sight.rows;
      for (std::size_t c = 0; c < sight.columns.size(); ++c) sight.columns[c].add(texts[c]);
    }
  }

  bool is_units(const std::vector<std::string>& texts) const {
    bool any = false;
    for (const std::string& text : texts) {
      if (text.empty()) continue;
      any = true;
      if (!may_be_unit(text, settings_.numbers)) return false;
    }
    return any && texts.size() > 1;
  }

  const LookCommand& command_;
  InputSettings settings_;
  bool units_seen_ = false;
};

/// The options that numbers of these columns need, beside those given.
std::string number_options(const std::vector<ColumnSurvey>& columns) {
  std::string words;
  std::string missing;
  for (const ColumnSurvey& column : columns) {
    if (column.kind() != ColumnKind::number) continue;
    using enum NumberStyle;
    const NumberStyle style = column.style();
    const bool comma = style == decimal_comma || style == either_comma || style == point_thousands ||
                       style == blank_thousands_comma;
    std::string options = comma ? " --decimal ," : "";
    if (style == comma_thousands) options += " --thousands ,";
    if (style == point_thousands) options += " --thousands .";
    if (style == blank_thousands || style == blank_thousands_comma) options += " --thousands ' '";
    if (style == apostrophe_thousands) options += " --thousands \"'\"";
    if (options.size() > words.size()) words = options;
    for (const std::string& word : column.words_among_numbers()) {
      if (missing.find(word) == std::string::npos) missing += (missing.empty() ? "" : ",") + word;
    }
  }
  const auto groups = [](const ColumnSurvey& column) {
    return column.kind() == ColumnKind::number && column.has_point_groups();
  };
  if (words == " --decimal ," && std::ranges::any_of(columns, groups)) words += " --thousands .";
  return words + (missing.empty() ? "" : " --na-values " + as_word(missing));
}

/// What sed makes the numbers of these columns of; empty: nothing to do.
std::string sed_for(const std::vector<ColumnSurvey>& columns) {
  std::string scripts;
  for (const ColumnSurvey& column : columns) {
    const std::string script = sed_script_for(style_of(column.example()), column.example());
    if (column.kind() != ColumnKind::number || scripts.find(script) != std::string::npos) continue;
    scripts += (scripts.empty() ? "" : "; ") + script;
  }
  return scripts;
}

std::string range_of(const ColumnSurvey& column) {
  const double unit = clock_unit(column.greatest());
  switch (column.kind()) {
    case ColumnKind::time:
      if (column.values().empty() || column.greatest() < 1e8)
        return fmt::format("{:g} to {:g}", column.least(), column.greatest());
      return time_in_words(unit * column.least()) + " to " + time_in_words(unit * column.greatest());
    case ColumnKind::number:
      if (!column.example().empty()) return fmt::format("such as {}", column.example());
      return fmt::format("{:g} to {:g}", column.least(), column.greatest());
    case ColumnKind::empty:
      return "";
    case ColumnKind::identifier:
      if (column.numbers() > 0) return fmt::format("{:g} to {:g}", column.least(), column.greatest());
      [[fallthrough]];
    default: {
      std::string text;
      std::size_t shown = 0;
      for (const std::string& value : column.values()) {
        if (shown++ == values_shown) break;
        text += (text.empty() ? "" : ", ") + value.substr(0, 20);
      }
      const std::size_t more = column.values().size() - std::min(column.values().size(), values_shown);
      return more > 0 ? fmt::format("{} and {}{} more", text, column.more_values() ? "over " : "", more)
                      : text;
    }
  }
}

/// What else there is to know of a column.
std::string remarks_on(const ColumnSurvey& column) {
  std::vector<std::string> remarks;
  if (column.missing() > 0) remarks.push_back(fmt::format("{} missing", grouped(column.missing())));
  const bool is_code = column.kind() == ColumnKind::number && column.is_code();
  if (is_code) remarks.push_back(fmt::format("only {} values, a code?", column.values().size()));
  if (column.kind() == ColumnKind::number && !is_code && column.longest_run() >= stuck_rows)
    remarks.push_back(fmt::format("the same {} times from row {} on", grouped(column.longest_run()),
                                  grouped(column.longest_run_row())));
  if (column.kind() == ColumnKind::number && !column.words_among_numbers().empty()) {
    std::string words;
    for (const std::string& word : column.words_among_numbers())
      words += (words.empty() ? "\"" : ", \"") + word + "\"";
    remarks.push_back(fmt::format("{} {} times among numbers", words, grouped(column.words())));
  }
  if (column.kind() == ColumnKind::time && column.steps().steps() > 0) {
    const double step = column.steps().median();
    const double unit = clock_unit(column.greatest());
    const std::uint64_t gaps = column.steps().longer_than(gap_steps * step);
    remarks.push_back("about every " + seconds_in_words(unit * step));
    if (gaps > 0)
      remarks.push_back(fmt::format("{}, the longest {}", counted(gaps, "gap"),
                                    seconds_in_words(unit * column.steps().longest())));
    if (column.steps().backward() > 0)
      remarks.push_back(fmt::format("backward {}", counted(column.steps().backward(), "time")));
  }
  std::string text;
  for (const std::string& remark : remarks) text += (text.empty() ? "" : "; ") + remark;
  return text;
}

const ColumnSurvey* first_of(const Sight& sight, ColumnKind kind) {
  const auto found =
      std::ranges::find_if(sight.columns, [&](const ColumnSurvey& c) { return c.kind() == kind; });
  return found == sight.columns.end() ? nullptr : &*found;
}

/// The call to copy; empty: there is no column of numbers.
std::string call_for(const Sight& sight, const std::string& path, const std::string& reading) {
  const std::string response = likely_response(sight.columns, {});
  if (response.empty()) return {};
  std::vector<std::string> taken;
  for (const ColumnSurvey& column : sight.columns) {
    if (column.kind() == ColumnKind::number && column.name() != response) taken.push_back(column.name());
  }
  const std::string features = proposed_features(taken);
  const std::string sed = sed_for(sight.columns);
  const std::string file = path == "-" ? "" : " " + as_word(path);
  return fmt::format("{}mixstream fit -k 2 -y {} -x {}{}{}{}",
                     sed.empty() ? "" : fmt::format("sed '{}'{} | ", sed, file), as_word(response),
                     as_word(features), reading, number_options(sight.columns), sed.empty() ? file : "");
}

/// A half-life that suits times: the longest of a few that several fit into, with many rows each. Empty:
/// none.
std::string forgetting_by(const ColumnSurvey& time) {
  constexpr double fewest_steps = 20.0;
  struct Life {
    double seconds;
    const char* option;
    const char* words;
  };
  constexpr Life lives[] = {{365.0 * 86400.0, "365d", "a year"},
                            {30.0 * 86400.0, "30d", "30 days"},
                            {7.0 * 86400.0, "7d", "a week"},
                            {86400.0, "1d", "a day"},
                            {3600.0, "1h", "an hour"},
                            {600.0, "10m", "ten minutes"},
                            {60.0, "1m", "a minute"},
                            {10.0, "10s", "ten seconds"}};
  const double unit = clock_unit(time.greatest());
  const double span = unit * (time.greatest() - time.least());
  const double step = unit * time.steps().median();
  for (const Life& life : lives) {
    if (life.seconds > span || life.seconds < fewest_steps * step) continue;
    return fmt::format("--time {} --half-life {} forgets half of the past in {}", as_word(time.name()),
                       life.option, life.words);
  }
  return {};
}

/// Other words that the columns suggest.
std::vector<std::string> proposals(const Sight& sight) {
  std::vector<std::string> proposals;
  const ColumnSurvey* category = first_of(sight, ColumnKind::category);
  const std::string response = likely_response(sight.columns, {});
  const auto code = std::ranges::find_if(sight.columns, [&](const ColumnSurvey& column) {
    return column.kind() == ColumnKind::number && column.is_code() && column.name() != response;
  });
  const bool has_code = code != sight.columns.end();
  if (category != nullptr || has_code) {
    const ColumnSurvey& parts = category != nullptr ? *category : *code;
    const std::string name = as_word(parts.name());
    proposals.push_back(
        fmt::format("--group {} fits one model for each of its {} values", name, parts.values().size()));
    proposals.push_back(
        fmt::format("--sensor {} where its values name sensors whose rows follow each other", name));
  }
  if (category != nullptr)
    proposals.push_back(fmt::format("{} in -x lets the laws differ by a constant for each value",
                                    spelled_column(category->name())));
  if (const ColumnSurvey* time = first_of(sight, ColumnKind::time)) {
    if (const std::string forgetting = forgetting_by(*time); !forgetting.empty())
      proposals.push_back(forgetting);
  }
  return proposals;
}

std::string text_of(const Sight& sight, const std::string& path, const std::string& reading) {
  std::string out = fmt::format(
      "{}: {}, {}{}{}\n", path == "-" ? "stdin" : path, name_of(sight.format), counted(sight.rows, "row"),
      sight.ragged > 0 ? ", " + counted(sight.ragged, "line") + " with other fields than the header" : "",
      sight.comments > 0 ? ", " + counted(sight.comments, "comment") : "");
  for (const std::string& note : sight.notes) out += "  " + note + "\n";
  std::size_t width = 6;
  const std::size_t shown = std::min(sight.columns.size(), most_shown);
  for (std::size_t i = 0; i < shown; ++i)
    width = std::max(width, std::min<std::size_t>(sight.columns[i].name().size(), 40));
  for (std::size_t i = 0; i < shown; ++i) {
    const ColumnSurvey& column = sight.columns[i];
    const std::string range = range_of(column);
    const std::string remarks = remarks_on(column);
    out += fmt::format("  {:<{}}  {:<10}  {}{}{}\n", column.name().substr(0, 40), width,
                       name_of(column.kind()), range, range.empty() || remarks.empty() ? "" : "; ", remarks);
  }
  if (sight.columns.size() > shown)
    out += fmt::format("  and {} more columns (--json shows all)\n", sight.columns.size() - shown);
  const std::string call = call_for(sight, path, reading);
  if (call.empty()) return out + "No column holds numbers.\n";
  out += "To fit:\n  " + call + "\n";
  for (const std::string& proposal : proposals(sight)) out += "  " + proposal + "\n";
  return out;
}

nlohmann::ordered_json json_of(const Sight& sight, const std::string& path, const std::string& reading) {
  nlohmann::ordered_json json{
      {"file", path},           {"format", name_of(sight.format)}, {"rows", sight.rows},
      {"ragged", sight.ragged}, {"comments", sight.comments},      {"notes", sight.notes}};
  json["columns"] = nlohmann::ordered_json::array();
  for (const ColumnSurvey& column : sight.columns) {
    nlohmann::ordered_json one{{"name", column.name()},
                               {"kind", name_of(column.kind())},
                               {"missing", column.missing()},
                               {"longest_run", column.longest_run()}};
    if (column.numbers() > 0 || column.kind() == ColumnKind::time) {
      one["least"] = column.least();
      one["greatest"] = column.greatest();
    }
    if (column.kind() == ColumnKind::time) {
      one["interval"] = column.steps().median();
      one["gaps"] = column.steps().longer_than(gap_steps * column.steps().median());
    }
    if (!column.more_values()) one["values"] = column.values().size();
    json["columns"].push_back(one);
  }
  json["response"] = likely_response(sight.columns, {});
  json["call"] = call_for(sight, path, reading);
  return json;
}

}  // namespace

void LookCommand::add_to(CLI::App& command) {
  command.add_option("files", files, "Files to look at; none or -: standard input");
  command.add_flag("--json", json, "One JSON object a file instead of a table");
  command.add_flag("--names", names, "Only the columns' names, one a line, by the head of each file")
      ->excludes("--json");
  input.add_to(command);
  command.footer(
      "Reads each file once and shows its columns: number, time, category, text, constant, identifier or "
      "empty, with "
      "their\nranges, missing values, stretches of one value, and the steps and gaps of times; then a call "
      "to copy.\n\n"
      "Examples:\n"
      "  mixstream look pump.csv\n"
      "  mixstream look --json pump.csv | jq -r .call\n\n"
      "Exit: 0, 1 file error, 2 wrong words.");
}

namespace {

/// The names of the columns as they are, read from the head alone.
Outcome<std::string> names_in(const std::string& path, const InputSettings& settings) {
  const Outcome<Input> opened = open_input(path, settings);
  if (!opened) return opened.refusal();
  std::string text;
  for (const std::string& name : opened.value().columns()) text += name + "\n";
  return text;
}

}  // namespace

Outcome<std::string> LookCommand::words_on(const std::string& path, const InputSettings& settings) const {
  if (names) return names_in(path, settings);
  const Outcome<Sight> sight = Looker(*this, settings).look(path);
  if (!sight) return sight.refusal();
  const std::string reading = input.as_words();
  if (!json) return text_of(sight.value(), path, reading);
  const auto replace = nlohmann::ordered_json::error_handler_t::replace;
  return json_of(sight.value(), path, reading).dump(-1, ' ', false, replace) + "\n";
}

int LookCommand::run() const {
  const Outcome<InputSettings> settings = input.settings();
  if (!settings) return fail_with(exit_usage, settings.refusal().text);
  watch_signals();
  FitOutput out(OutputFormat::table, false);
  for (const std::string& path : files.empty() ? std::vector<std::string>{"-"} : files) {
    if (path == "-") say_that_it_waits();
    const Outcome<std::string> text = words_on(path, settings.value());
    if (!text) return fail_with(exit_data, (path == "-" ? "stdin" : path) + ": " + text.refusal().text);
    if (!out.write(text.value())) return out.closed() ? exit_fitted : exit_data;
  }
  return exit_fitted;
}

}  // namespace mixstream
