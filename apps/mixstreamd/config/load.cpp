// From the text of a configuration to plain data: one function for each table.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "columns/read_columns.hpp"
#include "config.hpp"
#include "devices/read_devices.hpp"
#include "mixstream/core/noise_words.hpp"
#include "mixstream/estimator/model_budget.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/moments/state_file.hpp"
#include "mixstream/solving/solve.hpp"
#include "models/read_group.hpp"
#include "secret_file.hpp"
#include "sources/topic_filter.hpp"
#include "table_reader.hpp"

namespace mixstream {
namespace {

constexpr double longest = 366.0 * 86400.0;  // seconds
constexpr std::int64_t most_whole = 1'000'000'000'000'000;

LogConfig read_log(const toml::table& table, TableReader& outside, const std::string& path) {
  TableReader in(table, path, "[log]");
  LogConfig log;
  if (const auto level = in.take_word("level", {"error", "warning", "info", "debug"}))
    log.level = static_cast<LogLevel>(*level);
  if (const auto format = in.take_word("format", {"text", "json"}))
    log.format = static_cast<LogFormat>(*format);
  outside.refuse(in.result());
  return log;
}

std::optional<WebSettings> read_http(const toml::table& table, TableReader& outside,
                                     const std::string& path) {
  TableReader in(table, path, "[http]");
  WebSettings http;
  bool enabled = true;
  in.take("enabled", enabled);
  in.take("address", http.address);
  in.take_whole("port", http.port, 0, 65535);
  in.take("token_file", http.token_file);
  in.take("certificate_file", http.certificate_file);
  in.take("key_file", http.key_file);
  for (std::string* secret : {&http.token_file, &http.key_file}) *secret = secret_path(*secret);
  in.take("host_names", http.host_names);
  in.take_whole("connections", http.most_connections, 1, 100000);
  const bool closed = !http.token_file.empty() && !http.certificate_file.empty();
  if (!is_loopback(http.address) && !closed) {
    in.refuse("address",
              fmt::format("'{}' can be reached from outside: give a token_file, so that not everybody may "
                          "ask, and a certificate_file with key_file, so that nobody reads the token on "
                          "the way; or listen on 127.0.0.1",
                          http.address));
  }
  if (http.certificate_file.empty() != http.key_file.empty())
    in.refuse("certificate_file", "certificate_file and key_file belong together");
  outside.refuse(in.result());
  if (!enabled) return std::nullopt;
  return http;
}

/// A topic that can be published to: no wildcards, no empty text.
bool is_plain_topic(const std::string& topic) {
  return !topic.empty() && topic.find_first_of("#+$") == std::string::npos && topic.size() < 1024;
}

MqttConfig read_mqtt(const toml::table& table, TableReader& outside, const std::string& path) {
  TableReader in(table, path, "[mqtt]");
  MqttConfig mqtt;
  mqtt.enabled = true;
  in.take("host", mqtt.host);
  in.take("tls", mqtt.tls);
  if (mqtt.tls) mqtt.port = 8883;
  in.take_whole("port", mqtt.port, 1, 65535);
  if (const auto version = in.take_word("version", {"5", "3.1.1"}))
    mqtt.version = *version == 0 ? "5" : "3.1.1";
  in.take("client_id", mqtt.client_id);
  in.take("prefix", mqtt.prefix);
  in.take_whole("keepalive", mqtt.keepalive, 5, 65535);
  double expiry = mqtt.session_expiry;
  in.take_seconds("session_expiry", expiry, 0, 4294967295.0);
  mqtt.session_expiry = static_cast<std::uint32_t>(expiry);
  if (const auto sessions = in.take_word("sessions", {"stream", "shared"}))
    mqtt.own_sessions = *sessions == 0;
  in.take_seconds("slow_after", mqtt.slow_after, 0.0, 3600.0);
  in.take("home_assistant", mqtt.home_assistant);
  in.take("username", mqtt.username);
  in.take("password_file", mqtt.password_file);
  in.take("ca_file", mqtt.ca_file);
  in.take("certificate_file", mqtt.certificate_file);
  in.take("key_file", mqtt.key_file);
  for (std::string* secret : {&mqtt.password_file, &mqtt.key_file}) *secret = secret_path(*secret);
  if (in.has("password"))
    in.refuse("password", "secrets do not belong into the configuration: give a password_file of mode 0600");
  if (!is_plain_topic(mqtt.prefix)) in.refuse("prefix", "takes a topic without wildcards");
  if (!mqtt.home_assistant.empty() && !is_plain_topic(mqtt.home_assistant))
    in.refuse("home_assistant", "takes a topic without wildcards, mostly \"homeassistant\"");
  if (mqtt.client_id.empty()) in.refuse("client_id", "must not be empty: the broker keeps our rows under it");
  if (!mqtt.password_file.empty() && mqtt.username.empty()) in.refuse("password_file", "needs a username");
  if (!mqtt.tls && !(mqtt.ca_file + mqtt.certificate_file + mqtt.key_file).empty())
    in.refuse("tls", "must be true where certificates are given");
  if (mqtt.certificate_file.empty() != mqtt.key_file.empty())
    in.refuse("certificate_file", "certificate_file and key_file belong together");
  outside.refuse(in.result());
  return mqtt;
}

void read_source(TableReader& in, StreamConfig& stream) {
  in.take("topic", stream.topic);
  in.take("socket", stream.socket);
  in.take("socket_public", stream.public_socket);
  in.take_seconds("socket_idle", stream.socket_idle, 1.0, longest);
  in.take("stdin", stream.standard_input);
  in.take("replay", stream.replay);
  const int sources = static_cast<int>(!stream.columns.topics.empty()) +
                      static_cast<int>(!stream.topic.empty()) + static_cast<int>(!stream.socket.empty()) +
                      static_cast<int>(stream.standard_input) + static_cast<int>(!stream.replay.empty());
  if (sources != 1)
    in.refuse("name", "a stream has one source: topic, columns with topics, socket, stdin or replay");
  if (!stream.topic.empty()) {
    if (const Done sound = check_filter(stream.topic); !sound) in.refuse("topic", sound.refusal().text);
  }
  if (!stream.columns.topics.empty()) stream.topic = stream.columns.topics.front().filter;
  if (stream.socket.empty()) return;
  const Outcome<SocketAddress> address = parse_address(stream.socket);
  if (!address)
    in.refuse("socket", address.refusal().text);
  else if (!address.value().loopback && !stream.public_socket)
    in.refuse("socket",
              "can be reached from outside, and a line socket asks nobody who he is: listen on "
              "127.0.0.1 or unix:PATH, or say socket_public = true");
}

void read_payload(TableReader& in, StreamConfig& stream) {
  PayloadSettings& payload = stream.payload;
  if (const auto format = in.take_word("format", {"json", "csv", "f64", "state"})) {
    stream.devices.enabled = *format == 3;
    if (!stream.devices.enabled) payload.format = static_cast<PayloadFormat>(*format);
  }
  if (stream.columns.topics.empty()) in.take("columns", payload.columns);
  std::string delimiter(1, payload.delimiter);
  in.take("delimiter", delimiter);
  payload.delimiter = delimiter.empty() ? '\0' : delimiter[0];
  if (delimiter.size() != 1) in.refuse("delimiter", "takes one character");
  in.take("response", payload.response);
  in.take("sensor", payload.sensor);
  // sensor = "topic:2": the sensor is who may publish there, whatever the payload says.
  stream.identity.sensor_level = read_topic_level(in, "sensor", payload.sensor, stream.topic);
  in.take("epoch", payload.epoch);
  in.take("sequence", payload.sequence);
  in.take("time", payload.time);
  in.take("weight", payload.weight);
  settle_columns(in, stream);
  if (payload.format != PayloadFormat::json && payload.columns.empty())
    in.refuse("format", "needs columns: what the numbers of a row are, in order");
}

void read_model(TableReader& in, StreamConfig& stream) {
  std::string features;
  in.take("features", features);
  const std::vector<std::string>& columns = stream.payload.columns;
  Outcome<FeatureMap> map =
      columns.empty() ? FeatureMap::parse(features) : FeatureMap::parse(features, columns);
  if (!map) {
    in.refuse("features", features.empty() ? "is needed, such as \"1,t,t^2\"" : map.refusal().text);
    return;
  }
  if (!columns.empty()) map = FeatureMap::parse(map.value().text());  // its columns are those that it uses
  if (!map.value().lags().empty()) {
    in.refuse("features",
              "lag(...) needs rows in their order, which messages do not promise: leave it out, or send the "
              "earlier value as a field of its own");
    return;
  }
  stream.payload.map = std::move(map).value();
  const Outcome<PayloadParser> parser = PayloadParser::create(stream.payload);
  if (!parser) in.refuse("columns", parser.refusal().text);
  StateSettings& state = stream.estimator.state;
  state.layout = {static_cast<int>(stream.payload.map.feature_count()),
                  stream.payload.map.constant_feature()};
  state.feature_map = stream.payload.map.text();
  state.response = stream.payload.response;
  stream.estimator.solve.feature_names = stream.payload.map.names();
}

void read_memory(TableReader& in, StreamConfig& stream) {
  Memory& memory = stream.estimator.state.memory;
  const toml::node* half_life = in.take_any("half_life");
  std::uint64_t window = 0;
  in.take_whole("window", window, 2, most_whole);
  if (half_life != nullptr && window > 0) in.refuse("window", "and half_life do not go together");
  if (window > 0) {
    memory.kind = Memory::Kind::window_rows;
    memory.length = static_cast<double>(window);
    memory.panes = static_cast<int>(std::min<std::uint64_t>(window, 16));
  }
  if (half_life == nullptr) return;
  const auto text = half_life->value_exact<std::string>();
  const auto rows = half_life->value_exact<std::int64_t>();
  const std::optional<double> seconds = text ? seconds_of(*text) : std::nullopt;
  memory.kind = seconds ? Memory::Kind::half_life_seconds : Memory::Kind::half_life_rows;
  memory.length = seconds ? *seconds : static_cast<double>(rows.value_or(0));
  if (!(memory.length > 0.0)) in.refuse("half_life", "takes rows, such as 50000, or a time, such as \"10m\"");
}

/// Who chooses the law, and what the noise is like: words as in `mixstream fit`.
void read_order(TableReader& in, StreamConfig& stream) {
  SolveSettings& solve = stream.estimator.solve;
  solve.choice = {true, true};
  if (const auto modes = in.take_word("modes", {"independent", "persistent", "gated", "auto"})) {
    solve.choice.modes = *modes == 3;
    if (!solve.choice.modes) solve.modes = static_cast<Modes>(*modes);
  }
  std::string gate;
  in.take("gate", gate);
  if (!gate.empty()) {
    Outcome<std::vector<std::size_t>> features = parse_gate(gate, stream.payload.map.names());
    if (!features) return in.refuse("gate", features.refusal().text);
    solve.gate = std::move(features).value();
  }
  in.take_seconds("gap", stream.estimator.chains.gap_seconds, 0.0, longest);
  std::string noise = "auto";
  in.take("noise", noise);
  const Outcome<Noise> words = parse_noise(noise);
  if (!words) return in.refuse("noise", words.refusal().text);
  solve.noise = words.value().model;
  solve.noise_shape = words.value().shape;
  solve.choice.noise = words.value().chosen_by_rows;
}

/// The broker deals a sensor's messages out among the members of a shared subscription: each sees rows with
/// others missing between them, and would take that for modes that last or noise that remembers. States hold
/// no order at all.
void check_shared(TableReader& in, const StreamConfig& stream) {
  const SolveSettings& solve = stream.estimator.solve;
  const bool is_shared = stream.topic.starts_with("$share/");
  if (!(is_shared || stream.devices.enabled) || solve.method != FitMethod::standard) return;
  const std::string_view why =
      is_shared ? "where the topic is shared: the broker deals one sensor's messages out among the group's "
                  "members, so none of them knows the rows' order"
                : "with format = \"state\": a state does not say in which order its rows came";
  if (solve.choice.modes || solve.modes != Modes::independent)
    in.refuse("modes", fmt::format("must be \"independent\" {}", why));
  if (solve.choice.noise || solve.noise_shape.memory)
    in.refuse("noise", fmt::format("must be said, and without memory, such as \"shared\", {}", why));
}

void read_solve(TableReader& in, StreamConfig& stream) {
  SolveSettings& solve = stream.estimator.solve;
  if (const toml::node* k = in.take_any("k")) {
    const auto count = k->value_exact<std::int64_t>();
    const bool automatic = k->value_exact<std::string>() == "auto";
    if (!automatic && !(count && *count >= 1 && *count <= 32))
      in.refuse("k", "takes a whole number from 1 to 32, or \"auto\"");
    solve.component_count = automatic ? 0 : static_cast<std::size_t>(count.value_or(2));
  }
  in.take_whole("largest_k", solve.largest_component_count, 1, 32);
  if (const auto method = in.take_word("method", {"default", "paper", "em"}))
    solve.method = static_cast<FitMethod>(*method);
  if (const auto objective = in.take_word("objective", {"printed", "published"}))
    solve.objective = static_cast<PaperObjective>(*objective);
  if (const auto penalty = in.take_word("lambda", {"given", "theory"}))
    solve.penalty = static_cast<PaperPenalty>(*penalty);
  in.take_number("lambda2", solve.second_penalty, 0.0, 1e300);
  in.take_number("lambda3", solve.third_penalty, 0.0, 1e300);
  in.take("allow_singular", solve.allow_singular);
  read_order(in, stream);
  check_shared(in, stream);
  double variance = 0.0;
  in.take_number("noise_variance", variance, 1e-300, 1e300);
  if (variance > 0.0) {
    if (solve.noise == NoiseModel::per_component)
      in.refuse("noise_variance", "and noise = \"per-component\" contradict each other");
    solve.noise = NoiseModel::known;
    solve.noise_variance = variance;
  }
  in.take("guard", solve.guard);
  in.take_number("tolerance", solve.tolerance, 0.0, 1e300);
  in.take_whole("seed", solve.seed, 0, most_whole);
  stream.estimator.state.seed = solve.seed;
}

void read_limits(TableReader& in, StreamConfig& stream) {
  in.take_seconds("refit_interval", stream.refit.interval, 0.0, longest);
  in.take_whole("refit_rows", stream.refit.rows, 0, most_whole);
  in.take("refit_on_drift", stream.refit.on_drift);
  stream.estimator.every = stream.refit.rows;
  in.take_seconds("snapshot_interval", stream.snapshot_interval, 0.1, longest);
  std::uint64_t journal = stream.journal_limit >> 20;
  in.take_whole("journal_mib", journal, 1, 1 << 20);
  stream.journal_limit = journal << 20;
  in.take_whole("sample_rows", stream.estimator.state.reservoir_rows, 1, 10'000'000);
  std::uint64_t memory = 1024;
  in.take_whole("memory_mib", memory, 1, 1 << 24);
  stream.estimator.state.memory_budget = memory << 20;
}

/// A smaller sample where the model has a budget of its own; behind all that says what the model is.
void read_budget(TableReader& in, StreamConfig& stream) {
  std::uint64_t budget = 0;
  in.take_whole("model_kib", budget, 1, 1ULL << 34);
  if (budget == 0 || !in.result()) return;
  if (stream.estimator.state.reservoir_rows > 0)
    return in.refuse("model_kib", "chooses the sample's size: leave out sample_rows");
  const Outcome<std::size_t> rows = sample_rows_within(stream.estimator, budget << 10);
  if (!rows) return in.refuse("model_kib", rows.refusal().text);
  stream.estimator.state.reservoir_rows = rows.value();
}

void read_identity(TableReader& in, StreamConfig& stream) {
  IdentitySettings& identity = stream.identity;
  in.take_whole("most_sensors", identity.most_sensors, 1, 10'000'000);
  in.take_seconds("sensor_expiry", identity.sensor_expiry, 60.0, longest * 100.0);
  in.take_whole("largest_jump", identity.largest_jump, 1, most_whole);
  in.take_seconds("clock_tolerance", identity.clock_tolerance, 0.0, longest);
}

std::string text_of(const toml::table& table) {
  std::ostringstream text;
  text << table;
  return text.str();
}

bool is_name(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, fits);
}

StreamConfig read_stream(const toml::table& table, TableReader& outside, const std::string& path) {
  TableReader in(table, path, "[[stream]]");
  StreamConfig stream;
  stream.text = text_of(table);
  in.take("name", stream.name);
  if (!is_name(stream.name)) in.refuse("name", "is needed: 1 to 64 letters, digits, - and _");
  read_column_topics(in, stream);
  read_source(in, stream);
  read_payload(in, stream);
  read_model(in, stream);
  read_memory(in, stream);
  read_solve(in, stream);
  read_limits(in, stream);
  read_identity(in, stream);
  read_budget(in, stream);
  read_devices(in, stream);
  read_group(in, stream);
  Done done = in.result();
  if (done) {
    const Done solvable = check(stream.estimator.solve, stream.payload.map.feature_count());
    const Outcome<std::uint64_t> bytes = bytes_needed(sized_state(stream.estimator));
    if (!solvable) in.refuse("k", solvable.refusal().text);
    if (!bytes) in.refuse("features", bytes.refusal().text);
    done = in.result();
  }
  outside.refuse(done);
  return stream;
}

/// Whether a filter goes together with those of other streams, and with what the daemon publishes.
void check_topic(TableReader& in, const Config& config, const std::string& topic,
                 const std::vector<std::string>& others) {
  for (const std::string& other : others) {
    if (other == topic && config.mqtt.own_sessions && other.starts_with("$share/"))
      in.refuse("stream",
                fmt::format("two streams share '{}', so the broker would give each row to one of them: name "
                            "two groups",
                            other));
    if (other == topic || !filters_overlap(other, topic)) continue;
    in.refuse("stream", fmt::format("the topic filters '{}' and '{}' overlap, so a broker may send a message "
                                    "twice: make them equal, or apart",
                                    other, topic));
  }
  for (const std::string& ours : {config.mqtt.prefix, config.mqtt.home_assistant}) {
    if (ours.empty() || !filters_overlap(topic, ours + "/#")) continue;
    in.refuse("stream", fmt::format("the topic filter '{}' also matches what the daemon publishes under '{}'",
                                    topic, ours));
  }
}

/// What two streams must not share.
void check_together(TableReader& in, const Config& config) {
  std::set<std::string> names;
  std::vector<std::string> topics;
  int standard_inputs = 0;
  for (const StreamConfig& stream : config.streams) {
    if (!names.insert(stream.name).second)
      in.refuse("stream", fmt::format("two streams are called '{}'", stream.name));
    standard_inputs += static_cast<int>(stream.standard_input);
    const std::vector<std::string> own = topics_of(stream);
    for (const std::string& topic : own) check_topic(in, config, topic, topics);
    topics.insert(topics.end(), own.begin(), own.end());
  }
  if (standard_inputs > 1) in.refuse("stream", "only one stream can read stdin");
  if (!topics.empty() && !config.mqtt.enabled) in.refuse("stream", "a topic needs an [mqtt] table");
  if (config.streams.empty()) in.refuse("stream", "there is none: write at least one [[stream]]");
}

}  // namespace

Outcome<Config> parse_config(const std::string& text, const std::string& path) {
  toml::table root;
  try {
    root = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    return Refusal{Reason::bad_settings,
                   fmt::format("{}:{}: {}", path, error.source().begin.line, error.description())};
  }
  TableReader in(root, path, "the configuration");
  Config config;
  config.path = path;
  config.http.emplace();
  in.take("state_folder", config.state_folder);
  if (config.state_folder.empty()) in.refuse("state_folder", "must not be empty");
  in.take_seconds("longest_solve", config.longest_solve, 1.0, longest);
  in.take_whole("solvers", config.solvers, 1, 64);
  if (const toml::table* log = in.take_table("log")) config.log = read_log(*log, in, path);
  if (const toml::table* http = in.take_table("http")) {
    config.http = read_http(*http, in, path);
    config.http_text = text_of(*http);
  }
  if (const toml::table* mqtt = in.take_table("mqtt")) config.mqtt = read_mqtt(*mqtt, in, path);
  for (const toml::table* stream : in.take_tables("stream"))
    config.streams.push_back(read_stream(*stream, in, path));
  check_together(in, config);
  if (const Done done = in.result(); !done) return done.refusal();
  return config;
}

Outcome<Config> load_config(const std::string& path) {
  const Outcome<Bytes> bytes = read_file(path, 1 << 20);
  if (!bytes) return bytes.refusal();
  const auto* begin = reinterpret_cast<const char*>(bytes.value().data());
  return parse_config({begin, bytes.value().size()}, path);
}

}  // namespace mixstream
