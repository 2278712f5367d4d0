// What the daemon says at the broker: that it is there, fits and states of its streams (retained), alarms as
// events, and what Home Assistant wants to know.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "sources/mqtt.hpp"
#include "stream/stream.hpp"

namespace mixstream {

/// What a stream is like just now, in short, for whoever shows it or acts on it: JSON of PREFIX/STREAM/state.
std::string state_json(const StreamView& stream);

/// One thread. Nothing is said twice unless asked for, nor lost while there is no connection.
class Announcements {
 public:
  using Streams = std::vector<std::shared_ptr<Stream>>;

  /// What is new; `again`: what is retained, too, for the broker may have forgotten it.
  void say(MqttClient& broker, const MqttConfig& mqtt, const Streams& streams, bool again);

 private:
  using Clock = std::chrono::steady_clock;
  struct Said {
    std::string state;
    std::string discovery_topic;  // empty: Home Assistant knows nothing of it
    std::string discovery;
  };

  void say_states(MqttClient& broker, const MqttConfig& mqtt, const Streams& streams);
  void take_back(MqttClient& broker, const MqttConfig& mqtt, const Streams& streams);

  std::map<std::string, Said> said_;  // by stream
  Clock::time_point next_states_{};
};

}  // namespace mixstream
