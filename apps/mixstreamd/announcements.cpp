#include "announcements.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "home_assistant.hpp"

namespace mixstream {
namespace {

using Json = nlohmann::ordered_json;
using namespace std::chrono_literals;

constexpr auto between_states = 1s;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string status_json(const Announcements::Streams& streams) {
  Json status{{"status", "online"}, {"version", MIXSTREAM_VERSION}, {"streams", Json::array()}};
  for (const std::shared_ptr<Stream>& stream : streams) status["streams"].push_back(stream->config().name);
  return text_of(status);
}

/// The mode after the newest fit's last row, where modes last; else null.
void put_mode(Json& state, const Report* report) {
  state["mode"] = nullptr;
  state["mode_probability"] = nullptr;
  if (report == nullptr || !report->modes || report->modes->now.empty()) return;
  const std::vector<double>& now = report->modes->now;
  const auto likeliest = std::ranges::max_element(now);
  state["mode"] = likeliest - now.begin() + 1;
  state["mode_probability"] = *likeliest;
}

/// Events in their order; those that could not be said wait.
void say_events(MqttClient& broker, const std::string& topic, Stream& stream) {
  std::vector<Alarm> events = stream.take_events();
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (broker.publish(topic, to_json(events[i], stream.config().name), false)) continue;
    events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(i));
    return stream.put_back(std::move(events));
  }
}

/// Says a retained message that is another than the last one. False: there is no connection.
bool say_changed(MqttClient& broker, const std::string& topic, const std::string& text, std::string& said) {
  if (text == said) return true;
  if (!broker.publish(topic, text, true)) return false;
  said = text;
  return true;
}

}  // namespace

std::string state_json(const StreamView& stream) {
  const Report* const report = stream.fit ? &stream.fit->model.report : nullptr;
  Json state{{"schema", 1},
             {"stream", stream.name},
             {"connected", stream.source_connected},
             {"healthy", stream.health.ok},
             {"fit", report == nullptr ? Json() : Json(name_of(report->status))},
             {"stale", stream.stale},
             {"rows", report == nullptr ? 0 : report->rows},
             {"weights", Json::array()}};
  if (report != nullptr)
    for (const ComponentReport& law : report->components) state["weights"].push_back(law.weight);
  put_mode(state, report);
  state["drift"] = false;
  state["alarms"] = Json::array();
  for (const Alarm& alarm : stream.alarms) {
    if (!alarm.active) continue;
    if (alarm.kind == "drift") state["drift"] = true;
    state["alarms"].push_back({{"kind", alarm.kind}, {"words", alarm.words}});
  }
  return text_of(state);
}

void Announcements::say(MqttClient& broker, const MqttConfig& mqtt, const Streams& streams, bool again) {
  if (again) {
    broker.publish(mqtt.prefix + "/status", status_json(streams), true);
    for (auto& [name, said] : said_) said.state = said.discovery = "";
    next_states_ = {};
  }
  if (!broker.state().connected) return;
  for (const std::shared_ptr<Stream>& stream : streams) {
    const std::string topic = mqtt.prefix + "/" + stream->config().name;
    if (const std::optional<std::string> fit = stream->fit_to_publish(again))
      broker.publish(topic + "/fit", *fit, true);
    say_events(broker, topic + "/event", *stream);
  }
  if (Clock::now() < next_states_) return;
  next_states_ = Clock::now() + between_states;
  take_back(broker, mqtt, streams);
  say_states(broker, mqtt, streams);
}

void Announcements::say_states(MqttClient& broker, const MqttConfig& mqtt, const Streams& streams) {
  for (const std::shared_ptr<Stream>& stream : streams) {
    const StreamConfig& config = stream->config();
    const std::shared_ptr<const StreamView> view = stream->view();
    Said& said = said_[config.name];
    if (!say_changed(broker, mqtt.prefix + "/" + config.name + "/state", state_json(*view), said.state))
      return;
    if (mqtt.home_assistant.empty()) continue;
    said.discovery_topic = discovery_topic(mqtt, config.name);
    const std::size_t laws = view->fit ? view->fit->model.report.components.size() : 0;
    if (!say_changed(broker, said.discovery_topic, discovery_json(mqtt, config, laws), said.discovery))
      return;
  }
}

/// A stream that is no more, or that Home Assistant is to hear no more of: its retained messages go.
void Announcements::take_back(MqttClient& broker, const MqttConfig& mqtt, const Streams& streams) {
  std::erase_if(said_, [&](const auto& entry) {
    const auto& [name, said] = entry;
    const bool stays =
        std::ranges::any_of(streams, [&](const auto& stream) { return stream->config().name == name; });
    const bool shown = stays && !mqtt.home_assistant.empty() &&
                       (said.discovery_topic.empty() || said.discovery_topic == discovery_topic(mqtt, name));
    if (!said.discovery_topic.empty() && !shown && !broker.publish(said.discovery_topic, "", true))
      return false;
    if (!stays) return broker.publish(mqtt.prefix + "/" + name + "/state", "", true);
    return !said.discovery_topic.empty() && !shown;
  });
}

}  // namespace mixstream
