// What an MQTT client needs before it connects: version, password, TLS; and what TLS failures mean in words.
#pragma once

#include <mosquitto.h>

#include <string>

#include "../config/config.hpp"
#include "mixstream/core/outcome.hpp"

namespace mixstream {

/// Version, user and password, TLS. Refuses secrets that others may read and certificates that do not load.
Done set_up_client(mosquitto& client, const MqttConfig& config);

/// What to do about a TLS failure, by what the library's log said of it.
std::string tls_words(const std::string& detail);

/// The same where only the end of the connection was seen.
std::string closed_tls_words(const MqttConfig& config);

}  // namespace mixstream
