// Messages from an MQTT broker, and what the daemon publishes there.
//
// Acknowledgement. Under loop_start() libmosquitto queues the PUBACK of a QoS 1 message before the callback
// but writes it after the callback has returned; under mosquitto_loop() it would be on the wire before. So
// the callback returns only when every stream has the message on disk, and what was not stored is never
// acknowledged: the broker keeps it for our client id and sends it again. tests/daemon/acknowledge.py pins
// this order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../config/config.hpp"
#include "mixstream/outcome.hpp"
#include "source.hpp"

namespace mixstream {

/// A filter and who takes the messages that match it.
struct Subscription {
  std::string filter;
  Take take;
};

/// Called after every connect, subscribed again. `session_present`: the broker kept what came meanwhile. In
/// the client's thread.
using OnConnected = std::function<void(bool session_present)>;

class MqttClient final : public Source {
 public:
  /// Reads the password file, sets TLS and last will up, and starts to connect; an absent broker is waited
  /// for. Refuses what cannot work later either: secrets that others may read, certificates that do not load.
  static Outcome<std::unique_ptr<MqttClient>> start(const MqttConfig& config,
                                                    std::vector<Subscription> subscriptions,
                                                    OnConnected on_connected);
  ~MqttClient() override;
  MqttClient(const MqttClient&) = delete;
  MqttClient& operator=(const MqttClient&) = delete;

  SourceState state() const override;
  bool stop() override;

  /// QoS 1, below the prefix. False when there is no connection: nothing is queued. Any thread.
  bool publish(const std::string& topic, const std::string& payload, bool retain);

  /// Call every few seconds: begins anew with a client whose thread the library has ended (it does after TLS
  /// and protocol errors).
  void revive();

 private:
  class Core;
  explicit MqttClient(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace mixstream
