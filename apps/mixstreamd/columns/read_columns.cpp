#include "read_columns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "joiner.hpp"
#include "sources/topic_filter.hpp"

namespace mixstream {
namespace {

std::size_t wildcards(const std::string& filter) {
  return static_cast<std::size_t>(std::ranges::count(filter, '+'));
}

/// What is wrong with a column's filter beside the others; empty: nothing.
std::string fault_of(const ColumnTopic& topic, const std::vector<ColumnTopic>& before) {
  if (const Done sound = check_filter(topic.filter); !sound) return sound.refusal().text;
  if (topic.filter.starts_with("$share/"))
    return fmt::format("'{}' must not be shared: a sensor's values belong together", topic.filter);
  if (topic.filter.ends_with("#"))
    return fmt::format("'{}': each + names the sensor, and # stands for any number of levels", topic.filter);
  for (const ColumnTopic& other : before) {
    if (filters_overlap(other.filter, topic.filter))
      return fmt::format("the topics of {} and {} overlap", other.column, topic.column);
    if (wildcards(other.filter) != wildcards(topic.filter))
      return fmt::format("'{}' and '{}' name sensors by different numbers of +", other.filter, topic.filter);
  }
  return "";
}

}  // namespace

void read_column_topics(TableReader& in, StreamConfig& stream) {
  const toml::node* const node = in.take_any("columns");
  const toml::table* const table = node == nullptr ? nullptr : node->as_table();
  if (table == nullptr) return;
  std::vector<ColumnTopic>& topics = stream.columns.topics;
  for (const auto& [column, filter] : *table) {
    const auto text = filter.value_exact<std::string>();
    if (!text) {
      in.refuse("columns", fmt::format("'{}' takes a topic filter in quotes", column.str()));
      continue;
    }
    const ColumnTopic topic{std::string(column.str()), *text};
    if (const std::string fault = fault_of(topic, topics); !fault.empty()) in.refuse("columns", fault);
    topics.push_back(topic);
  }
  if (topics.size() < 2)
    in.refuse("columns", "as a table needs two topics at least; one is a stream's topic");
}

std::vector<std::string> topics_of(const StreamConfig& stream) {
  std::vector<std::string> topics;
  for (const ColumnTopic& column : stream.columns.topics) topics.push_back(column.filter);
  if (topics.empty() && !stream.topic.empty()) topics.push_back(stream.topic);
  return topics;
}

ValueFields value_fields(const StreamConfig& stream) {
  return {.time = stream.payload.time, .sequence = stream.payload.sequence, .epoch = stream.payload.epoch};
}

void settle_columns(TableReader& in, StreamConfig& stream) {
  ColumnSettings& columns = stream.columns;
  in.take("join_on", columns.trigger);
  in.take_seconds("join_tolerance", columns.tolerance, 0.0, 366.0 * 86400.0);
  if (columns.topics.empty()) {
    for (const char* const key : {"join_on", "join_tolerance"})
      if (in.has(key)) in.refuse(key, "belongs to columns that are a table of topics");
    return;
  }
  if (columns.trigger.empty()) columns.trigger = stream.payload.response;
  if (std::ranges::find(columns.topics, columns.trigger, &ColumnTopic::column) == columns.topics.end())
    in.refuse("columns", fmt::format("lack '{}', whose values make the rows (join_on, or else the response)",
                                     columns.trigger));
  for (const char* const key : {"format", "sensor", "weight"})
    if (in.has(key)) in.refuse(key, "means nothing where each column has a topic: a message is one value");
  stream.payload.weight.clear();
  stream.payload.sensor.clear();
  stream.payload.format = PayloadFormat::f64;  // what the join makes
  stream.payload.columns = Joiner::columns(columns, value_fields(stream));
}

}  // namespace mixstream
