#include "joiner.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "payload/payload.hpp"
#include "sources/topic_filter.hpp"

namespace mixstream {
namespace {

constexpr const char* no_value_yet = "no_value_yet";
constexpr const char* stale_value = "stale_value";
constexpr const char* too_many_sensors = "too_many_sensors";
constexpr const char* clock_ahead = "clock_ahead";
constexpr const char* no_column = "no_column";

}  // namespace

std::string wildcards_of(std::string_view filter, std::string_view topic) {
  std::string name;
  const auto levels = static_cast<std::size_t>(std::ranges::count(filter, '/')) + 1;
  for (std::size_t level = 1; level <= levels; ++level) {
    if (level_of(filter, level) != "+") continue;
    if (!name.empty()) name += '/';
    name += level_of(topic, level);
  }
  return name;
}

Joiner::Joiner(ColumnSettings settings, const ValueFields& fields, std::size_t most_sensors,
               double clock_tolerance)
    : settings_(std::move(settings)),
      named_{!fields.time.empty(), !fields.sequence.empty(), !fields.epoch.empty()},
      most_sensors_(most_sensors),
      clock_tolerance_(clock_tolerance),
      reader_(fields) {
  const auto trigger = std::ranges::find(settings_.topics, settings_.trigger, &ColumnTopic::column);
  trigger_ = static_cast<std::size_t>(trigger - settings_.topics.begin());
}

std::vector<std::string> Joiner::columns(const ColumnSettings& settings, const ValueFields& fields) {
  std::vector<std::string> columns;
  for (const ColumnTopic& topic : settings.topics) columns.push_back(topic.column);
  for (const std::string& name : {fields.time, fields.sequence, fields.epoch})
    if (!name.empty()) columns.push_back(name);
  return columns;
}

Joined Joiner::take(std::string_view topic, std::span<const std::byte> payload, double arrival) {
  const auto found = std::ranges::find_if(
      settings_.topics, [&](const ColumnTopic& column) { return filter_matches(column.filter, topic); });
  if (found == settings_.topics.end()) return {.refused = no_column};  // of a subscription that is ending
  const auto column = static_cast<std::size_t>(found - settings_.topics.begin());
  name_ = wildcards_of(found->filter, topic);
  if (name_.size() > longest_sensor) return {.refused = name_of(RowFault::bad_sensor)};
  const ReadValue read = reader_.read(payload);
  if (read.fault != nullptr) return {.refused = read.fault, .sensor = name_};
  const double time = std::isnan(read.time) ? arrival : read.time;
  if (!(time <= arrival + clock_tolerance_)) return {.refused = clock_ahead, .sensor = name_};
  auto sensor = sensors_.find(name_);
  if (sensor == sensors_.end()) {
    if (sensors_.size() >= most_sensors_) return {.refused = too_many_sensors, .sensor = name_};
    sensor = sensors_.emplace(name_, Sensor(settings_.topics.size())).first;
  }
  if (column != trigger_) {
    keep(sensor->second[column], {time, read.value});
    return {.sensor = name_};
  }
  return make_row(sensor->second, read, time);
}

/// A value that comes again takes its own place.
void Joiner::keep(Values& values, Value value) {
  const auto place = std::ranges::lower_bound(values, value.time, {}, &Value::time);
  if (place != values.end() && place->time == value.time) {
    place->value = value.value;
    return;
  }
  values.insert(place, value);
  if (values.size() > kept_values) values.erase(values.begin());
}

Joined Joiner::make_row(const Sensor& sensor, const ReadValue& read, double time) {
  row_.clear();
  for (std::size_t column = 0; column < sensor.size(); ++column) {
    if (column == trigger_) {
      row_.push_back(read.value);
      continue;
    }
    const auto behind = std::ranges::upper_bound(sensor[column], time, {}, &Value::time);
    if (behind == sensor[column].begin()) return {.refused = no_value_yet, .sensor = name_};
    const Value& newest = *(behind - 1);
    if (time - newest.time > settings_.tolerance) return {.refused = stale_value, .sensor = name_};
    row_.push_back(newest.value);
  }
  const double numbers[] = {time, read.sequence, read.epoch};
  for (std::size_t i = 0; i < named_.size(); ++i)
    if (named_[i]) row_.push_back(numbers[i]);
  return {nullptr, std::as_bytes(std::span(row_)), name_};
}

Bytes Joiner::encode() const {
  ByteWriter out;
  out.put(static_cast<std::uint64_t>(settings_.topics.size()));
  out.put(static_cast<std::uint64_t>(sensors_.size()));
  for (const auto& [name, sensor] : sensors_) {
    out.put_text(name);
    for (const Values& values : sensor) {
      out.put(static_cast<std::uint32_t>(values.size()));
      for (const Value& value : values) {
        out.put(value.time);
        out.put(value.value);
      }
    }
  }
  return std::move(out).take();
}

bool Joiner::restore(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  if (in.take<std::uint64_t>() != settings_.topics.size()) return false;
  const auto sensors = in.take<std::uint64_t>();
  for (std::uint64_t i = 0; in.ok() && i < sensors; ++i) {
    std::string name = in.take_text();
    Sensor sensor(settings_.topics.size());
    for (Values& values : sensor) {
      const auto count = in.take<std::uint32_t>();
      if (count > kept_values) return false;
      for (std::uint32_t v = 0; in.ok() && v < count; ++v) {
        const double time = in.take_double();
        values.push_back({time, in.take_double()});
      }
      if (!std::ranges::is_sorted(values, {}, &Value::time)) return false;
    }
    sensors_[std::move(name)] = std::move(sensor);
  }
  return in.ok() && in.at_end();
}

}  // namespace mixstream
