// What `mixstream look` does with a file: lines cut into texts, texts counted into columns. The first byte
// chooses the format; the first line names the columns.
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/target.hpp"
#include "input/survey.hpp"

using namespace mixstream;

namespace {

std::vector<std::string> parts_of(std::string_view line, char between) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = line.find(between);
    parts.emplace_back(line.substr(0, end));
    if (end == std::string_view::npos) return parts;
    line.remove_prefix(end + 1);
  }
}

/// A line without quotes is what stands between the delimiters.
void judge_plain(std::string_view line, char delimiter, const std::vector<std::string>& texts) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const bool plain = delimiter != ' ' && line.find('"') == std::string_view::npos;
  const bool blank = line.find_first_not_of(" \t") == std::string_view::npos;
  if (!plain || blank) return;
  const std::vector<std::string> parts = parts_of(line, delimiter);
  if (parts.size() == texts.size()) require(parts == texts);
}

void judge(const ColumnSurvey& column, std::uint64_t rows) {
  require(column.rows() == rows && column.missing() + column.numbers() + column.texts() <= rows);
  require(column.values().size() <= ColumnSurvey::most_values && column.longest_run() <= rows);
  require(column.longest_run_row() + column.longest_run() <= rows + 1);
  require(column.words_among_numbers().size() <= 3 && column.words() <= column.texts());
  require(column.steps().steps() == 0 || column.steps().median() <= column.steps().longest());
  require(std::string_view(name_of(column.kind())) != "unknown");
  require(column.kind() != ColumnKind::empty || column.missing() == rows);
  require(column.example().empty() || style_of(column.example()) != NumberStyle::none);
  [[maybe_unused]] const std::string script = sed_script_for(column.style(), column.example());
  [[maybe_unused]] const bool code = column.is_code() || column.has_point_groups();
}

}  // namespace

void fuzz(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto choice = static_cast<unsigned char>(bytes[0]);
  const Format format = (choice & 1) != 0 ? Format::ndjson : Format::csv;
  const char delimiter = ",; \t"[(choice >> 1) & 3];
  const NumberRules rules = (choice & 8) != 0 ? NumberRules{',', '.', {"-"}} : NumberRules{};
  std::vector<std::string> lines = parts_of(bytes.substr(1), '\n');
  const std::vector<std::string> names = parts_of(lines.front(), format == Format::ndjson ? ',' : delimiter);
  LineFields fields(format, delimiter, names);
  std::vector<ColumnSurvey> columns;
  for (const std::string& name : names) columns.emplace_back(name, rules);
  std::uint64_t rows = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string>& texts = fields.cut(lines[i]);
    if (texts.empty()) continue;
    require(texts.size() == names.size());
    if (format == Format::csv) judge_plain(lines[i], delimiter, texts);
    ++rows;
    for (std::size_t c = 0; c < names.size(); ++c) columns[c].add(texts[c]);
  }
  for (const ColumnSurvey& column : columns) judge(column, rows);
}
