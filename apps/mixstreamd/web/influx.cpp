#include "influx.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace mixstream::web {
namespace {

/// Values of tags: commas, spaces, equal signs and backslashes at the end would be read as something else.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ',' || c == ' ' || c == '=') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  if (out.ends_with('\\')) out += ' ';
  return out;
}

/// One line: measurement and tags, then fields, then the time.
class Line {
 public:
  Line(std::string_view measurement, std::string_view stream)
      : text_(fmt::format("{},stream={}", measurement, escaped(stream))) {}

  Line& tag(std::string_view name, std::string_view value) {
    text_ += fmt::format(",{}={}", name, escaped(value));
    return *this;
  }
  Line& field(std::string_view name, double value) {
    if (std::isfinite(value)) add(name, fmt::format("{}", value));
    return *this;
  }
  Line& count(std::string_view name, std::uint64_t value) {
    add(name, fmt::format("{}i", value));
    return *this;
  }
  Line& flag(std::string_view name, bool value) {
    add(name, value ? "true" : "false");
    return *this;
  }
  /// Empty where it has no field.
  std::string at(WallTime time) const {
    if (!has_fields_) return "";
    const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch());
    return fmt::format("{} {}\n", text_, since.count());
  }

 private:
  void add(std::string_view name, const std::string& value) {
    text_ += fmt::format("{}{}={}", has_fields_ ? "," : " ", name, value);
    has_fields_ = true;
  }

  std::string text_;
  bool has_fields_ = false;
};

std::string stream_line(const StreamView& stream, WallTime now) {
  std::uint64_t alarms = 0;
  bool drift = false;
  for (const Alarm& alarm : stream.alarms) {
    alarms += alarm.active ? 1 : 0;
    drift = drift || (alarm.active && alarm.kind == "drift");
  }
  return Line("mixstream_stream", stream.name)
      .flag("healthy", stream.health.ok)
      .flag("connected", stream.source_connected)
      .count("rows_in", stream.rows.in)
      .count("rows_folded", stream.rows.folded)
      .count("rows_duplicate", stream.rows.duplicate)
      .count("rows_refused", stream.rows.refused_total())
      .count("gaps", stream.rows.gaps)
      .count("alarms", alarms)
      .flag("drift", drift)
      .flag("stale", stream.stale)
      .at(now);
}

std::string fit_lines(const StreamView& stream) {
  const Report& report = stream.fit->model.report;
  std::string text = Line("mixstream_fit", stream.name)
                         .tag("status", name_of(report.status))
                         .count("rows", report.rows)
                         .count("laws", report.components.size())
                         .flag("ok", is_usable(report.status))
                         .field("log_likelihood", report.log_likelihood.value_or(NAN))
                         .at(stream.fit->time);
  for (std::size_t h = 0; h < report.components.size(); ++h) {
    const ComponentReport& law = report.components[h];
    const std::string label = std::to_string(h + 1);
    text += Line("mixstream_law", stream.name)
                .tag("law", label)
                .field("weight", law.weight)
                .field("noise_variance", law.noise_variance)
                .at(stream.fit->time);
    for (std::size_t f = 0; f < report.features.size(); ++f)
      text += Line("mixstream_coefficient", stream.name)
                  .tag("law", label)
                  .tag("feature", report.features[f])
                  .field("value", law.coefficients[f])
                  .at(stream.fit->time);
  }
  return text;
}

}  // namespace

std::string influx_text(const DaemonView& daemon, WallTime now) {
  std::string text;
  for (const std::shared_ptr<const StreamView>& stream : daemon.streams()) {
    text += stream_line(*stream, now);
    if (stream->fit != nullptr) text += fit_lines(*stream);
  }
  return text;
}

}  // namespace mixstream::web
