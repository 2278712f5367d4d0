#include "api.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

namespace mixstream::web {
namespace {

using Json = nlohmann::ordered_json;

/// Names come from outside: what is no UTF-8 is replaced, never thrown at.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

Json time_json(const std::optional<WallTime>& time) {
  return time ? Json(iso_time(*time)) : Json(nullptr);
}

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json health_json(const Health& health) {
  return {{"ok", health.ok}, {"words", health.words}};
}

Json rows_json(const StreamView& stream) {
  Json json{{"in", stream.rows.in}, {"folded", stream.rows.folded}, {"duplicate", stream.rows.duplicate}};
  json["refused"] = Json::object();
  for (const auto& [reason, count] : stream.rows.refused) json["refused"][reason] = count;
  json["gaps"] = stream.rows.gaps;
  json["missing"] = stream.rows.missing;
  json["sensors"] = stream.sensors;
  json["per_second"] = number(stream.rows_per_second);
  json["last"] = time_json(stream.last_row);
  return json;
}

Json fit_json(const StreamView& stream) {
  if (stream.fit == nullptr) return nullptr;
  const Report& report = stream.fit->model.report;
  return {{"time", iso_time(stream.fit->time)}, {"rows", report.rows},   {"k", report.components.size()},
          {"status", name_of(report.status)},   {"words", report.words}, {"stale", stream.stale},
          {"stale_words", stream.stale_words}};
}

Json alarms_json(const std::vector<Alarm>& alarms) {
  Json json = Json::array();
  for (const Alarm& alarm : alarms) {
    json.push_back({{"time", iso_time(alarm.time)},
                    {"row", alarm.row},
                    {"kind", alarm.kind},
                    {"words", alarm.words},
                    {"active", alarm.active}});
  }
  return json;
}

Json fleet_json(const FleetSummary& fleet) {
  Json json{
      {"models", fleet.models}, {"grown", fleet.grown}, {"looked", fleet.looked}, {"in_mode", fleet.in_mode}};
  for (const auto& [key, named] :
       {std::pair("drifting", &fleet.drifting), {"departing", &fleet.departing}, {"silent", &fleet.silent}})
    json[key] = {{"count", named->count}, {"names", named->names}};
  return json;
}

Json reading_json(const std::optional<LawReading>& reading) {
  if (!reading) return nullptr;
  return {{"deviations", number(reading->deviations)},
          {"size", number(reading->size)},
          {"law", reading->component}};
}

Json group_json(const GroupView& group) {
  Json json{{"name", group.name},
            {"rows", group.rows},
            {"last", iso_time(group.last_row)},
            {"grown", group.grown},
            {"status", group.status ? Json(name_of(*group.status)) : Json(nullptr)},
            {"fit_rows", group.fit_rows}};
  json["laws"] = Json::array();
  for (std::size_t h = 0; h < group.laws.component_count(); ++h) {
    Json law{{"weight", number(group.laws.weights[h])},
             {"noise_variance", number(group.laws.noise_variances[h])}};
    for (const double value : group.laws.law(h)) law["coefficients"].push_back(number(value));
    json["laws"].push_back(std::move(law));
  }
  json["mode"] = group.mode ? Json(*group.mode) : Json(nullptr);
  json["mode_probability"] = group.mode ? number(group.mode_probability) : Json(nullptr);
  json["drift"] = reading_json(group.drift);
  json["departure"] = reading_json(group.departure);
  json["drifts"] = group.drifts;
  json["departs"] = group.departs;
  json["silent"] = group.silent;
  return json;
}

Json stream_object(const StreamView& stream) {
  Json json{{"name", stream.name},
            {"source", stream.source},
            {"connected", stream.source_connected},
            {"features", stream.feature_map},
            {"response", stream.response},
            {"k", stream.component_count == 0 ? Json("auto") : Json(stream.component_count)},
            {"health", health_json(stream.health)}};
  json["rows"] = rows_json(stream);
  json["fit"] = fit_json(stream);
  json["refits"] = {{"count", stream.refits},
                    {"failed", stream.refits_failed},
                    {"seconds", number(stream.solve_seconds)},
                    {"running", stream.refit_running}};
  json["fleet"] = stream.fleet ? fleet_json(*stream.fleet) : Json(nullptr);
  json["journal_bytes"] = stream.journal_bytes;
  json["snapshot"] = time_json(stream.snapshot);
  json["alarms"] = alarms_json(stream.alarms);
  return json;
}

}  // namespace

std::string iso_time(WallTime time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const auto rest = std::chrono::floor<std::chrono::milliseconds>(time - whole).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(whole)),
                     rest);
}

std::string models_json(const StreamView& stream, const FleetPage& page) {
  Json json{{"schema", 1}, {"stream", stream.name}, {"total", page.summary.models}, {"from", page.from}};
  json["fleet"] = fleet_json(page.summary);
  json["models"] = Json::array();
  for (const GroupView& group : page.models) json["models"].push_back(group_json(group));
  return text_of(json);
}

std::optional<StreamPage> page_in(std::string_view query) {
  StreamPage page;
  while (!query.empty()) {
    const std::string_view word = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(word.size() + 1, query.size()));
    const std::size_t equal = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equal);
    const std::string_view number = word.substr(std::min(equal + 1, word.size()));
    std::size_t* const value = name == "from" ? &page.from : name == "count" ? &page.count : nullptr;
    if (value == nullptr) return std::nullopt;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), *value);
    if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
  }
  return page;
}

std::string streams_json(const DaemonView& daemon, WallTime now, const StreamPage& page) {
  const DaemonFigures figures = daemon.figures();
  Json json{{"schema", 1},
            {"version", figures.version},
            {"now", iso_time(now)},
            {"started", iso_time(figures.started)}};
  json["health"] = health_json(daemon.health());
  json["ready"] = health_json(daemon.ready());
  json["configuration"] = {{"last_reload_ok", figures.last_reload_ok},
                           {"last_reload", time_json(figures.last_reload)}};
  const std::vector<std::shared_ptr<const StreamView>> streams = daemon.streams();
  const std::size_t from = std::min(page.from, streams.size());
  const std::size_t count = std::min(page.count, streams.size() - from);
  json["total"] = streams.size();
  json["from"] = from;
  json["streams"] = Json::array();
  for (const auto& stream : std::span(streams).subspan(from, count))
    json["streams"].push_back(stream_object(*stream));
  return text_of(json);
}

std::string stream_json(const StreamView& stream) {
  return text_of(stream_object(stream));
}

Response health_response(const Health& health) {
  return response_of(text_of(health_json(health)), "application/json", health.ok ? 200 : 503);
}

}  // namespace mixstream::web
