#include "input/columns.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "input/number.hpp"
#include "input/text.hpp"

namespace mixstream {
namespace {

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Insertions, deletions and replacements that turn one text into the other, whatever the case of letters.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> distances(right.size() + 1);
  std::iota(distances.begin(), distances.end(), 0);
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = std::exchange(distances[0], i + 1);
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t replaced = diagonal + (lower(left[i]) == lower(right[j]) ? 0 : 1);
      diagonal = distances[j + 1];
      distances[j + 1] = std::min({replaced, distances[j] + 1, diagonal + 1});
    }
  }
  return distances.back();
}

/// With quotes where its end could not be seen otherwise.
std::string shown_name(std::string_view name) {
  name = name.substr(0, 60);
  const bool plain = name.find_first_of(" ,;") == std::string_view::npos;
  return plain ? std::string(name) : joined({"\"", name, "\""});
}

std::string listed(const std::vector<std::string>& columns) {
  constexpr std::size_t most = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(columns.size(), most); ++i) {
    text += joined({i == 0 ? "" : ", ", shown_name(columns[i])});
  }
  if (columns.size() > most) text += joined({" and ", std::to_string(columns.size() - most), " more"});
  return text;
}

/// Of a name that the header had several times: which names the columns got instead.
std::vector<std::string> told_apart(const std::vector<std::string>& columns, const std::string& name) {
  std::vector<std::string> same;
  for (std::size_t i = 1;; ++i) {
    const std::string numbered = joined({name, ".", std::to_string(i)});
    if (std::ranges::find(columns, numbered) == columns.end()) return same;
    same.push_back(numbered);
  }
}

Refusal unknown_column(const std::vector<std::string>& columns, const std::string& name) {
  if (const auto same = told_apart(columns, name); same.size() > 1) {
    return {Reason::bad_input,
            joined({"the header has \"", name, "\" ", std::to_string(same.size()), " times: write ", same[0],
                    " for the first, ", same[1], " for the second", same.size() > 2 ? " and so on" : ""})};
  }
  std::string text = joined({"there is no column \"", name, "\""});
  const auto nearest = std::ranges::min_element(columns, {}, [&](const std::string& column) {
    return edit_distance(std::string_view(column).substr(0, 60), std::string_view(name).substr(0, 60));
  });
  const std::size_t far = std::min(std::max<std::size_t>(2, name.size() / 3 + 1), name.size());
  if (nearest != columns.end() && edit_distance(*nearest, name) < far) {  // some letter must agree
    text += joined({"; did you mean \"", *nearest, "\"?"});
  }
  if (!text.ends_with('?')) text += '.';
  text += joined({" The columns are: ", listed(columns), "."});
  if (all_numbers(columns))
    text += " They are all numbers: if the first line is a row, say so with --no-header.";
  return {Reason::bad_input, text};
}

Outcome<std::size_t> position_of(const std::vector<std::string>& columns, const std::string& name) {
  const auto found = std::ranges::find(columns, name);
  if (found == columns.end()) return unknown_column(columns, name);
  return static_cast<std::size_t>(found - columns.begin());
}

}  // namespace

void tell_apart(std::vector<std::string>& columns) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& column : columns) ++counts[column];
  std::map<std::string, std::size_t> numbers;
  for (std::string& column : columns) {
    const auto found = counts.find(column);
    if (found == counts.end() || found->second < 2) continue;
    const std::string name = column;
    do {
      column = joined({name, ".", std::to_string(++numbers[name])});
    } while (counts.contains(column));  // the header may have that one too
  }
}

std::vector<std::string> numbered_columns(std::size_t count) {
  std::vector<std::string> columns;
  for (std::size_t i = 1; i <= count; ++i) columns.push_back(joined({"c", std::to_string(i)}));
  return columns;
}

bool all_numbers(const std::vector<std::string>& columns) {
  return !columns.empty() && std::ranges::all_of(columns, [](const std::string& column) {
    return parse_number(column).kind == NumberKind::number;
  });
}

Outcome<std::vector<ColumnUse>> choose_columns(const std::vector<std::string>& columns,
                                               const Selection& selection) {
  std::vector<ColumnUse> uses(columns.size());
  for (std::size_t i = 0; i < selection.numbers.size(); ++i) {
    const auto position = position_of(columns, selection.numbers[i]);
    if (!position) return position.refusal();
    ColumnUse& use = uses[position.value()];
    if (use.number >= 0) {
      return Refusal{Reason::bad_settings,
                     joined({"the column \"", selection.numbers[i], "\" was asked for twice"})};
    }
    use.number = static_cast<int>(i);
    use.time = selection.numbers[i] == selection.time;
    use.coded = std::ranges::find(selection.coded, selection.numbers[i]) != selection.coded.end();
  }
  if (!selection.text.empty()) {
    const auto position = position_of(columns, selection.text);
    if (!position) return position.refusal();
    uses[position.value()].text = true;
  }
  return uses;
}

}  // namespace mixstream
