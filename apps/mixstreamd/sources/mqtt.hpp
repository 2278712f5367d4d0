// A session with an MQTT broker: messages come in, what the daemon says goes out.
//
// Acknowledgement. The library queues the PUBACK of a QoS 1 message before it calls us; nothing is written
// until our own loop says so. So the loop goes on only when every taker has the message on disk. When one
// does not, the connection is dropped with the PUBACK still in the queue: the broker keeps the message and
// sends it again. tests/daemon/acknowledge.py pins this. Messages that are there together are handed over
// together: one sync for all.
//
// Each session has a thread of its own that waits in poll(): no number of descriptors is too high, and nobody
// else ever waits for a broker.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../config/config.hpp"
#include "mixstream/core/outcome.hpp"
#include "source.hpp"

namespace mixstream {

/// Filters, and who takes the messages that match any of them.
struct Subscription {
  std::vector<std::string> filters;
  Take take;
};

struct SessionSettings {
  MqttConfig mqtt;
  std::string client_id;                    ///< the broker keeps our messages under this name
  std::vector<Subscription> subscriptions;  ///< in force from now on; others that we made are ended
  /// Who takes, at this moment, what subscriptions of former configurations still bring; not subscribed to.
  /// The session's thread asks; null: nobody.
  std::function<std::vector<Subscription>()> leftovers;
  std::string notes;      ///< file that remembers which filters the broker has from us
  bool publishes = true;  ///< says that the daemon is online, with a last will that says when not
  bool probes = true;     ///< looks whether the broker answers within slow_after
};

class MqttClient final : public Source {
 public:
  /// Reads the password file, sets TLS and last will up, and starts to connect; an absent broker is waited
  /// for. Refuses what cannot work later either: secrets that others may read, certificates that do not load.
  static Outcome<std::unique_ptr<MqttClient>> start(SessionSettings settings);
  ~MqttClient() override;
  MqttClient(const MqttClient&) = delete;
  MqttClient& operator=(const MqttClient&) = delete;

  SourceState state() const override;
  SourceCounts counts() const override;
  std::vector<SourceEvent> take_events() override;
  void ask_to_stop() override;
  bool stop() override;

  /// Ends the session at the broker as well: the stream is no more.
  void ask_to_forget();

  /// QoS 1. False when there is no connection: nothing is queued. Any thread; never waits.
  bool publish(const std::string& topic, const std::string& payload, bool retain);

  /// How often it has connected: when the number grows, what is retained must be said again.
  std::uint64_t connects() const;

 private:
  class Session;
  explicit MqttClient(std::shared_ptr<Session> session);
  std::shared_ptr<Session> session_;
};

}  // namespace mixstream
