#include "read_group.hpp"

#include <fmt/format.h>

#include <charconv>

#include "sources/topic_filter.hpp"

namespace mixstream {
namespace {

constexpr double longest_silence = 366.0 * 86400.0;  // seconds

/// What groups do not go together with.
void check_group(TableReader& in, const StreamConfig& stream) {
  if (stream.devices.enabled)
    in.refuse("group", "does not go together with format = \"state\": a device's state is no row");
  if (!stream.columns.topics.empty())
    in.refuse("group", "does not go together with [stream.columns]: publish the values of a row together");
  if (stream.estimator.solve.method == FitMethod::paper)
    in.refuse("method", "\"paper\" does not go together with group");
}

}  // namespace

std::size_t read_topic_level(TableReader& in, const char* key, const std::string& text,
                             const std::string& filter) {
  constexpr std::string_view prefix = "topic:";
  if (!text.starts_with(prefix)) return 0;
  std::size_t level = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + prefix.size(), end, level);
  if (error != std::errc{} || at != end || level == 0)
    in.refuse(key, "takes a field, or \"topic:2\" for the second level of the topic");
  else if (!filter_has_level(filter, level))
    in.refuse(key, fmt::format("the topic '{}' has no level {} that every message has", filter, level));
  return level;
}

void read_group(TableReader& in, StreamConfig& stream) {
  GroupSettings& group = stream.group;
  std::string text;
  in.take("group", text);
  in.take_whole("most_models", group.most_models, 1, 10'000'000);
  in.take_seconds("silent_after", group.silent_after, 0.0, longest_silence);
  in.take_number("departs_by", group.departs_by, 1e-6, 1e6);
  if (text.empty()) {
    for (const char* const key : {"most_models", "silent_after", "departs_by"})
      if (in.has(key)) in.refuse(key, "belongs to group");
    return;
  }
  group.enabled = true;
  group.level = read_topic_level(in, "group", text, stream.topic);
  if (group.level == 0 && !text.starts_with("topic:") && text != stream.payload.sensor)
    in.refuse("group",
              fmt::format("takes \"topic:2\" for the second level of the topic, or the field that names the "
                          "sensor (sensor = \"{}\")",
                          stream.payload.sensor));
  check_group(in, stream);
}

}  // namespace mixstream
