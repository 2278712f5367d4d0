// What a configuration says, as plain data. docs/reference/mixstreamd.toml shows every key;
// mixstreamd.toml(5) explains them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "columns/column_settings.hpp"
#include "devices/device_settings.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/estimator.hpp"
#include "models/group_settings.hpp"
#include "payload/payload.hpp"
#include "store/identity.hpp"
#include "web/server.hpp"

namespace mixstream {

enum class LogLevel { error, warning, info, debug };
enum class LogFormat { text, json };

struct LogConfig {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::text;
  friend bool operator==(const LogConfig&, const LogConfig&) = default;
};

struct MqttConfig {
  bool enabled = false;  ///< whether there is an [mqtt] table
  std::string host = "127.0.0.1";
  std::uint16_t port = 1883;
  std::string version = "5";              ///< "5" or "3.1.1"
  std::string client_id = "mixstreamd";   ///< the broker keeps what comes while we are away under this name;
                                          ///< of the sessions of streams the beginning
  std::string prefix = "mixstream";       ///< of the topics that are published
  int keepalive = 60;                     ///< seconds
  std::uint32_t session_expiry = 604800;  ///< seconds that a v5 broker keeps the session
  bool own_sessions = true;               ///< a session for each stream, CLIENT_ID-STREAM; false: one for all
  double slow_after = 0.5;     ///< seconds without an answer of the broker that are an alarm; 0: never
  std::string home_assistant;  ///< prefix of Home Assistant's discovery; empty: it is told nothing
  std::string username;
  std::string password_file;  ///< mode 0600
  bool tls = false;
  std::string ca_file;  ///< empty: the system's own
  std::string certificate_file;
  std::string key_file;  ///< mode 0600
  friend bool operator==(const MqttConfig&, const MqttConfig&) = default;
};

/// When a stream is solved again. Everything off: only when asked.
struct RefitConfig {
  double interval = 10.0;  ///< seconds between solves while rows come; 0: not by time
  std::uint64_t rows = 0;  ///< rows between solves; 0: not by count
  bool on_drift = true;    ///< when the stream is seen to change
  friend bool operator==(const RefitConfig&, const RefitConfig&) = default;
};

struct StreamConfig {
  std::string text;                 ///< its table, to see whether another configuration changes it
  std::string name;                 ///< letters, digits, - and _
  std::string topic;                ///< MQTT filter; or
  std::string socket;               ///< "127.0.0.1:7070", "[::1]:7070" or "unix:/run/x.sock"; or
  bool standard_input = false;      ///< stdin; or
  std::vector<std::string> replay;  ///< files, once, each line a message
  bool public_socket = false;       ///< lets `socket` be other than loopback
  double socket_idle = 3600.0;      ///< seconds; a connection that sends nothing for so long is closed
  PayloadSettings payload;          ///< feature map and names of fields
  EstimatorSettings estimator;
  RefitConfig refit;
  double snapshot_interval = 60.0;  ///< seconds, while rows come
  std::uint64_t journal_limit =
      256 << 20;              ///< bytes; at half of it a snapshot is made, at all of it rows wait
  IdentitySettings identity;  ///< sensors, sequence numbers and clocks
  DeviceSettings devices;     ///< messages are states of devices, not rows
  GroupSettings group;        ///< rows have models of their own, by a name
  ColumnSettings columns;     ///< each column has a topic; then `topic` is the first of them
};

/// Every MQTT filter of a stream.
std::vector<std::string> topics_of(const StreamConfig& stream);

struct Config {
  std::string path;  ///< of the file it was read from
  std::string state_folder = "/var/lib/mixstream";
  double longest_solve = 600.0;  ///< seconds inside one stream before the watchdog takes the solver for dead
  std::size_t solvers = 1;       ///< streams that are solved at once
  LogConfig log;
  std::optional<WebSettings> http;  ///< nothing: no HTTP
  std::string http_text;            ///< its table, to see whether another configuration changes it
  MqttConfig mqtt;
  std::vector<StreamConfig> streams;
};

/// Reads and checks a file. A refusal names the file, the line and, for unknown keys, the nearest known one.
/// Opens nothing but the file itself; secrets are read when they are used (secret_file.hpp).
Outcome<Config> load_config(const std::string& path);
/// The same from a text; `path` only names it.
Outcome<Config> parse_config(const std::string& text, const std::string& path);

/// The address a line socket listens at.
struct SocketAddress {
  std::string path;  ///< of a Unix socket, or empty
  std::string host;
  std::uint16_t port = 0;
  bool loopback = false;
};
Outcome<SocketAddress> parse_address(const std::string& text);

/// Whether a host is this machine alone: 127.x, ::1 or localhost.
bool is_loopback(const std::string& host);

}  // namespace mixstream
