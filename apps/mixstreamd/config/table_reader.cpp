#include "table_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "mixstream/rows/feature_map.hpp"

namespace mixstream {

std::optional<double> seconds_of(const std::string& text) {
  static const std::map<std::string, double> units{{"s", 1.0}, {"m", 60.0}, {"h", 3600.0}, {"d", 86400.0}};
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  const auto unit = units.find(std::string(at, end));
  if (error != std::errc() || unit == units.end() || !std::isfinite(value)) return std::nullopt;
  return value * unit->second;
}

TableReader::TableReader(const toml::table& table, std::string path, std::string name)
    : table_(table), path_(std::move(path)), name_(std::move(name)) {}

std::string TableReader::at(const toml::source_region& source) const {
  return fmt::format("{}:{}: ", path_, source.begin.line);
}

const toml::node* TableReader::find(const char* key) {
  known_.emplace_back(key);
  return table_.get(key);
}

void TableReader::refuse(const char* key, const std::string& what) {
  if (refusal_) return;
  const toml::node* node = table_.get(key);
  const toml::source_region& source = node == nullptr ? table_.source() : node->source();
  refusal_ = Refusal{Reason::bad_settings, fmt::format("{}{} {}: {}", at(source), name_, key, what)};
}

void TableReader::refuse(const Done& done) {
  if (!refusal_ && !done) refusal_ = done.refusal();
}

void TableReader::take(const char* key, std::string& value) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (const auto text = node->value_exact<std::string>())
    value = *text;
  else
    refuse(key, "takes a text in quotes");
}

void TableReader::take(const char* key, bool& value) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (const auto flag = node->value_exact<bool>())
    value = *flag;
  else
    refuse(key, "takes true or false");
}

void TableReader::take(const char* key, std::vector<std::string>& values) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const toml::array* list = node->as_array();
  if (list == nullptr) return refuse(key, "takes a list of texts, such as [\"a\", \"b\"]");
  values.clear();
  for (const toml::node& entry : *list) {
    const auto text = entry.value_exact<std::string>();
    if (!text) return refuse(key, "takes a list of texts, such as [\"a\", \"b\"]");
    values.push_back(*text);
  }
}

void TableReader::take_number(const char* key, double& value, double least, double most) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const auto number = node->value<double>();
  if (number && *number >= least && *number <= most)
    value = *number;
  else
    refuse(key, fmt::format("takes a number from {} to {}", least, most));
}

std::optional<std::int64_t> TableReader::whole(const char* key, std::int64_t least, std::int64_t most) {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  const auto number = node->value_exact<std::int64_t>();
  if (number && *number >= least && *number <= most) return *number;
  refuse(key, fmt::format("takes a whole number from {} to {}", least, most));
  return std::nullopt;
}

void TableReader::take_seconds(const char* key, double& seconds, double least, double most) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  std::optional<double> value;
  if (const auto text = node->value_exact<std::string>())
    value = seconds_of(*text);
  else if (node->is_number())
    value = node->value<double>();
  if (value && *value >= least && *value <= most)
    seconds = *value;
  else
    refuse(key,
           fmt::format("takes a time such as \"10s\", \"5m\" or \"2h\", from {} to {} seconds", least, most));
}

std::optional<std::size_t> TableReader::take_word(const char* key, const std::vector<std::string>& words) {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  const auto text = node->value_exact<std::string>();
  const auto found = text ? std::ranges::find(words, *text) : words.end();
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "\"" : ", \"") + word + "\"";
  refuse(key, "takes one of " + list);
  return std::nullopt;
}

const toml::node* TableReader::take_any(const char* key) {
  return find(key);
}

const toml::table* TableReader::take_table(const char* key) {
  const toml::node* node = find(key);
  if (node == nullptr) return nullptr;
  if (node->is_table()) return node->as_table();
  refuse(key, fmt::format("is a table: write [{}] on a line of its own", key));
  return nullptr;
}

std::vector<const toml::table*> TableReader::take_tables(const char* key) {
  std::vector<const toml::table*> tables;
  const toml::node* node = find(key);
  if (node == nullptr) return tables;
  const toml::array* list = node->as_array();
  if (list == nullptr || !list->is_homogeneous(toml::node_type::table)) {
    refuse(key, fmt::format("is a list of tables: write [[{}]] on a line of its own", key));
    return tables;
  }
  for (const toml::node& entry : *list) tables.push_back(entry.as_table());
  return tables;
}

Done TableReader::result() const {
  if (refusal_) return *refusal_;
  for (const auto& [key, node] : table_) {
    const std::string name(key.str());
    if (std::ranges::find(known_, name) != known_.end()) continue;
    const std::string near = nearest_name(name, known_);
    return Refusal{Reason::bad_settings,
                   fmt::format("{}{} knows no key '{}'{}", at(key.source()), name_, name,
                               near.empty() ? "" : fmt::format("; did you mean '{}'?", near))};
  }
  return std::monostate{};
}

}  // namespace mixstream
