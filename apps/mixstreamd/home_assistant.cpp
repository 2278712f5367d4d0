#include "home_assistant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "mixstream/report/report.hpp"

namespace mixstream {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array every_status{
    FitStatus::ok,           FitStatus::approximate,    FitStatus::poor_fit,
    FitStatus::too_few_rows, FitStatus::lost_component, FitStatus::not_identifiable};

/// Unique over all brokers' clients, streams and entities.
std::string identifier(const MqttConfig& mqtt, const std::string& stream) {
  std::string id = fmt::format("mixstream_{}_{}", mqtt.client_id, stream);
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  std::ranges::replace_if(
      id, [&](char c) { return !plain(c); }, '_');
  return id;
}

/// A share as a percentage; "None", which is unknown, where there is none.
std::string percentage(const std::string& value, const std::string& condition) {
  return fmt::format("{{{{ (100 * {}) | round(1) if {} else none }}}}", value, condition);
}

/// The entities of one device.
class Entities {
 public:
  explicit Entities(std::string id) : id_(std::move(id)) {}

  Json& add(const std::string& key, const char* platform, const std::string& name, const std::string& value) {
    Json& entity = entities_[key];
    entity = {
        {"platform", platform}, {"unique_id", id_ + "_" + key}, {"name", name}, {"value_template", value}};
    return entity;
  }
  void add_percentage(const std::string& key, const std::string& name, const std::string& value) {
    Json& entity = add(key, "sensor", name, value);
    entity["unit_of_measurement"] = "%";
    entity["state_class"] = "measurement";
  }
  Json& add_flag(const std::string& key, const std::string& name, const char* kind,
                 const std::string& condition) {
    Json& entity = add(key, "binary_sensor", name, fmt::format("{{{{ 'ON' if {} else 'OFF' }}}}", condition));
    entity["device_class"] = kind;
    return entity;
  }
  void take_back(const std::string& key) { entities_[key] = {{"platform", "sensor"}}; }
  Json take() && { return std::move(entities_); }

 private:
  std::string id_;
  Json entities_ = Json::object();
};

void add_weights(Entities& entities, const StreamConfig& stream, std::size_t laws) {
  const SolveSettings& solve = stream.estimator.solve;
  const bool chosen = solve.component_count == 0;
  const std::size_t most = chosen ? std::max(solve.largest_component_count, laws) : solve.component_count;
  for (std::size_t h = 0; h < most; ++h) {
    const std::string key = fmt::format("weight_{}", h + 1);
    if (chosen && h >= laws)
      entities.take_back(key);
    else
      entities.add_percentage(key, fmt::format("Weight of law {}", h + 1),
                              percentage(fmt::format("value_json.weights[{}]", h),
                                         fmt::format("value_json.weights | length > {}", h)));
  }
}

Json entities_of(const std::string& id, const std::string& state, const StreamConfig& stream,
                 std::size_t laws) {
  Entities entities(id);
  entities.add("mode", "sensor", "Mode", "{{ value_json.mode }}")["icon"] = "mdi:swap-horizontal";
  entities.add_percentage(
      "mode_probability", "Probability of the mode",
      percentage("value_json.mode_probability", "value_json.mode_probability is not none"));
  add_weights(entities, stream, laws);
  Json& fit = entities.add("fit", "sensor", "Fit", "{{ value_json.fit }}");
  fit["device_class"] = "enum";
  fit["options"] = Json::array();
  for (const FitStatus status : every_status) fit["options"].push_back(name_of(status));
  entities.add_flag("drift", "Drift", "problem", "value_json.drift");
  Json& alarm = entities.add_flag("alarm", "Alarm", "problem", "value_json.alarms");
  alarm["json_attributes_topic"] = state;
  Json& connected = entities.add_flag("connected", "Rows", "connectivity", "value_json.connected");
  connected["entity_category"] = "diagnostic";
  return std::move(entities).take();
}

}  // namespace

std::string discovery_topic(const MqttConfig& mqtt, const std::string& stream) {
  return fmt::format("{}/device/{}/config", mqtt.home_assistant, identifier(mqtt, stream));
}

std::string discovery_json(const MqttConfig& mqtt, const StreamConfig& stream, std::size_t laws) {
  const std::string id = identifier(mqtt, stream.name);
  const std::string state = fmt::format("{}/{}/state", mqtt.prefix, stream.name);
  Json message;
  message["device"] = {{"identifiers", {id}},
                       {"name", "mixstream " + stream.name},
                       {"manufacturer", "mixstream"},
                       {"model", fmt::format("{} by {}", stream.payload.response, stream.payload.map.text())},
                       {"sw_version", MIXSTREAM_VERSION}};
  message["origin"] = {{"name", "mixstreamd"}, {"sw_version", MIXSTREAM_VERSION}};
  message["state_topic"] = state;
  message["availability"] = {
      {{"topic", mqtt.prefix + "/status"}, {"value_template", "{{ value_json.status }}"}}};
  message["components"] = entities_of(id, state, stream, laws);
  return message.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace mixstream
