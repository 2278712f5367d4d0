#include "mqtt.hpp"

#include <utility>

#include "mqtt_session.hpp"

namespace mixstream {
namespace {

constexpr std::chrono::milliseconds patience(2000);  // for a broker that does not read our farewell

}  // namespace

/// The thread keeps the session alive: one that hangs in the system is left to itself.
MqttClient::MqttClient(std::shared_ptr<Session> session) : session_(std::move(session)) {}

MqttClient::~MqttClient() {
  MqttClient::stop();
}

Outcome<std::unique_ptr<MqttClient>> MqttClient::start(SessionSettings settings) {
  auto session = std::make_shared<Session>(std::move(settings));
  if (const Done done = session->set_up(); !done) return done.refusal();
  Session::begin(session);
  return std::unique_ptr<MqttClient>(new MqttClient(std::move(session)));
}

SourceState MqttClient::state() const {
  return session_->state();
}
SourceCounts MqttClient::counts() const {
  return session_->counts();
}
std::vector<SourceEvent> MqttClient::take_events() {
  return session_->take_events();
}
void MqttClient::ask_to_stop() {
  session_->end(false);
}
void MqttClient::ask_to_forget() {
  session_->end(true);
}
bool MqttClient::stop() {
  session_->end(false);
  return session_->wait_for_end(patience);
}
bool MqttClient::publish(const std::string& topic, const std::string& payload, bool retain) {
  return session_->publish(topic, payload, retain);
}
std::uint64_t MqttClient::connects() const {
  return session_->counts().connects;
}

}  // namespace mixstream
