// What Home Assistant is told of a stream, so that it shows it without being configured: one retained message
// of MQTT discovery for a device, its entities read from PREFIX/STREAM/state.
#pragma once

#include <cstddef>
#include <string>

#include "config/config.hpp"

namespace mixstream {

/// Where the message goes: the same for the same client_id and stream, in letters that discovery allows.
std::string discovery_topic(const MqttConfig& mqtt, const std::string& stream);

/// The message for a stream of so many laws. Where k is "auto", entities of laws that are no more are taken
/// back.
std::string discovery_json(const MqttConfig& mqtt, const StreamConfig& stream, std::size_t laws);

}  // namespace mixstream
