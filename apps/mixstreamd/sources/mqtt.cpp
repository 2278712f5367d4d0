#include "mqtt.hpp"

#include <fmt/format.h>
#include <mosquitto.h>
#include <mqtt_protocol.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "../log.hpp"
#include "../secret_file.hpp"
#include "../tls_files.hpp"
#include "../urgency.hpp"

namespace mixstream {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int qos = 1;
constexpr unsigned longest_backoff = 60;  // seconds
constexpr std::chrono::seconds given_up{longest_backoff + 15};

/// The library once, for the whole process.
void begin_library() {
  static const int begun = mosquitto_lib_init();
  static_cast<void>(begun);
}

constexpr std::string_view wants_certificate =
    "the broker ended TLS: it may want a certificate of ours, see certificate_file and key_file";
constexpr std::string_view disbelieves_certificate =
    "the broker ended TLS: it may not believe our certificate_file";

/// What to do about a TLS failure, by what the library's log said of it.
std::string tls_words(const std::string& detail) {
  const auto says = [&](const char* text) { return detail.find(text) != std::string::npos; };
  if (says("certificate verify failed"))
    return "the broker's certificate is not believed: it must be signed by an authority of ca_file and made "
           "out "
           "to the name in host";
  if (says("wrong version number") || says("packet length too long") || says("unexpected eof"))
    return "the broker does not greet as TLS does: it may not speak it at this port";
  if (says("alert certificate required"))  // whether this or only the end of the connection is seen is a race
    return std::string(wants_certificate);
  if (says("alert")) return std::string(disbelieves_certificate) + " (" + detail + ")";
  return "TLS failed: " + detail;
}

/// Whether the files can be used at all, before the library finds out at every attempt to connect.
Verdict check_tls_files(const MqttConfig& config) {
  const TlsContext context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  if (context == nullptr) return tls_refusal("MQTT over TLS cannot be set up");
  if (!config.ca_file.empty()) {
    if (Verdict verdict = use_authorities(*context, config.ca_file); !verdict) return verdict;
  }
  if (config.certificate_file.empty()) return std::monostate{};
  return use_certificate(*context, config.certificate_file, config.key_file);
}

}  // namespace

class MqttClient::Core {
 public:
  Core(MqttConfig config, std::vector<Subscription> subscriptions, OnConnected on_connected)
      : config_(std::move(config)),
        subscriptions_(std::move(subscriptions)),
        on_connected_(std::move(on_connected)) {
    begin_library();
    client_ = mosquitto_new(config_.client_id.c_str(), false, this);
  }
  ~Core() {
    if (client_ != nullptr) mosquitto_destroy(client_);
  }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  Verdict set_up();
  void begin();
  bool stop();
  void revive();
  bool publish(const std::string& topic, const std::string& payload, bool retain);
  SourceState state() const;

 private:
  static Core& of(void* core) { return *static_cast<Core*>(core); }
  Verdict set_up_tls();
  void set_up_will();
  void set_up_backoff();
  void connect();
  void subscribe();
  void on_connect(int code, int flags);
  void on_disconnect(int code);
  void on_message(const mosquitto_message& message);
  void on_log(int level, const char* text);
  void note_unreachable(const std::string& why);
  void set_inside(bool inside);
  std::string words_of(int code);

  MqttConfig config_;
  std::vector<Subscription> subscriptions_;
  OnConnected on_connected_;
  mosquitto* client_ = nullptr;
  std::thread connecting_;
  std::atomic<bool> is_connecting_ = false;
  std::atomic<bool> looping_ = false;
  mutable std::mutex mutex_;
  std::condition_variable stuck_;
  std::string words_ = "not connected yet";
  std::string tls_trouble_;  // what the library's log last said of TLS, in words
  bool connected_ = false;
  bool was_refused_ = false;                    // by the broker, in words_
  bool is_inside_ = false;                      // a callback
  bool is_stuck_ = false;                       // a message could not be stored, and must not be acknowledged
  Clock::time_point last_sign_ = Clock::now();  // of life: when it was last connected, or begun
};

Verdict MqttClient::Core::set_up() {
  if (client_ == nullptr) return Refusal{Reason::input_output, "MQTT: the client could not be made"};
  const int version = config_.version == "5" ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311;
  mosquitto_int_option(client_, MOSQ_OPT_PROTOCOL_VERSION, version);
  mosquitto_int_option(client_, MOSQ_OPT_TCP_NODELAY, 1);
  if (!config_.username.empty()) {
    std::string password;
    if (!config_.password_file.empty()) {
      const Outcome<std::string> secret = read_secret_file(config_.password_file);
      if (!secret) return secret.refusal();
      password = secret.value();
    }
    mosquitto_username_pw_set(client_, config_.username.c_str(),
                              password.empty() ? nullptr : password.c_str());
  }
  if (config_.tls) {
    if (const Verdict verdict = set_up_tls(); !verdict) return verdict;
  }
  set_up_will();
  mosquitto_connect_v5_callback_set(
      client_, [](mosquitto*, void* core, int code, int flags, const mosquitto_property*) {
        of(core).on_connect(code, flags);
      });
  mosquitto_disconnect_callback_set(client_,
                                    [](mosquitto*, void* core, int code) { of(core).on_disconnect(code); });
  mosquitto_message_callback_set(client_, [](mosquitto*, void* core, const mosquitto_message* message) {
    of(core).on_message(*message);
  });
  mosquitto_log_callback_set(
      client_, [](mosquitto*, void* core, int level, const char* text) { of(core).on_log(level, text); });
  return std::monostate{};
}

Verdict MqttClient::Core::set_up_tls() {
  if (Verdict verdict = check_tls_files(config_); !verdict) return verdict;
  const auto given = [](const std::string& path) { return path.empty() ? nullptr : path.c_str(); };
  const char* folder = config_.ca_file.empty() ? "/etc/ssl/certs" : nullptr;
  int code = mosquitto_tls_set(client_, given(config_.ca_file), folder, given(config_.certificate_file),
                               given(config_.key_file), nullptr);
  if (code == MOSQ_ERR_SUCCESS) code = mosquitto_tls_opts_set(client_, 1, "tlsv1.2", nullptr);  // 1: verify
  if (code == MOSQ_ERR_SUCCESS) code = mosquitto_tls_insecure_set(client_, false);  // the name must fit too
  if (code == MOSQ_ERR_SUCCESS) return std::monostate{};
  return Refusal{Reason::bad_settings, fmt::format("MQTT over TLS: {}: look at ca_file, certificate_file and "
                                                   "key_file",
                                                   mosquitto_strerror(code))};
}

/// The broker says "offline" for us when we are gone without a word.
void MqttClient::Core::set_up_will() {
  const std::string topic = config_.prefix + "/status";
  const std::string offline = R"({"status":"offline"})";
  mosquitto_will_set(client_, topic.c_str(), static_cast<int>(offline.size()), offline.data(), qos, true);
}

/// The library waits `first`, 4 `first`, 9 `first` ... seconds between its attempts: two daemons that lost
/// the same broker differ in both numbers.
void MqttClient::Core::set_up_backoff() {
  std::random_device random;
  const unsigned first = 1 + random() % 2;
  const unsigned last = longest_backoff - random() % 20;
  mosquitto_reconnect_delay_set(client_, first, last, true);
}

/// Never waits: a broker that does not answer can hold up a connect for minutes.
void MqttClient::Core::begin() {
  if (is_connecting_.exchange(true)) return;
  if (connecting_.joinable()) connecting_.join();
  connecting_ = std::thread([this] {
    if (looping_) {
      mosquitto_disconnect(client_);
      mosquitto_loop_stop(client_, false);
    }
    connect();
    is_connecting_ = false;
  });
}

void MqttClient::Core::connect() {
  set_up_backoff();
  mosquitto_property* properties = nullptr;
  if (config_.version == "5")
    mosquitto_property_add_int32(&properties, MQTT_PROP_SESSION_EXPIRY_INTERVAL, config_.session_expiry);
  const int code = mosquitto_connect_bind_v5(client_, config_.host.c_str(), config_.port, config_.keepalive,
                                             nullptr, properties);
  mosquitto_property_free_all(&properties);
  if (code != MOSQ_ERR_SUCCESS) {
    const std::lock_guard lock(mutex_);
    note_unreachable(words_of(code));
  }
  looping_ = mosquitto_loop_start(client_) == MOSQ_ERR_SUCCESS;
}

/// Called with the lock.
void MqttClient::Core::note_unreachable(const std::string& why) {
  const std::string words = fmt::format("cannot reach {}:{}: {}", config_.host, config_.port, why);
  if (words == words_) return;
  words_ = words;
  log(LogLevel::warning, "MQTT: " + words + "; it is tried again");
}

/// The library's results say "a TLS error", if anybody is told them; its log knows which.
void MqttClient::Core::on_log(int level, const char* text) {
  const std::string_view line(text);
  if (level != MOSQ_LOG_ERR || line.find("OpenSSL Error") == std::string_view::npos) return;
  const std::lock_guard lock(mutex_);
  tls_trouble_ = tls_words(std::string(line.substr(line.rfind(':') + 1)));
  if (!connected_) note_unreachable(tls_trouble_);
}

/// Called with the lock.
std::string MqttClient::Core::words_of(int code) {
  if (config_.tls && tls_trouble_.empty() && code == MOSQ_ERR_ERRNO && errno == EPROTO)
    return config_.certificate_file.empty() ? std::string(wants_certificate)
                                            : std::string(disbelieves_certificate);
  const std::string trouble = std::exchange(tls_trouble_, "");
  return trouble.empty() ? mosquitto_strerror(code) : trouble;
}

void MqttClient::Core::on_connect(int code, int flags) {
  be_prompt();  // this is the thread that messages come in
  if (code != 0) {
    const std::lock_guard lock(mutex_);
    was_refused_ = true;
    words_ =
        fmt::format("{}:{} refused the connection: {}", config_.host, config_.port,
                    config_.version == "5" ? mosquitto_reason_string(code) : mosquitto_connack_string(code));
    log(LogLevel::error, "MQTT: " + words_);
    return;
  }
  const bool session_present = (flags & 1) != 0;
  subscribe();
  {
    const std::lock_guard lock(mutex_);
    connected_ = true;
    last_sign_ = Clock::now();
    words_ = fmt::format("connected to {}:{}", config_.host, config_.port);
  }
  log(LogLevel::info, fmt::format("MQTT: connected to {}:{}, session {}", config_.host, config_.port,
                                  session_present ? "kept" : "new"));
  if (on_connected_) on_connected_(session_present);
}

/// At every connect: a broker that lost our session has lost the subscriptions too.
void MqttClient::Core::subscribe() {
  std::set<std::string> filters;
  for (const Subscription& subscription : subscriptions_) filters.insert(subscription.filter);
  for (const std::string& filter : filters) {
    const int code = mosquitto_subscribe(client_, nullptr, filter.c_str(), qos);
    if (code != MOSQ_ERR_SUCCESS)
      log(LogLevel::error, fmt::format("MQTT: cannot subscribe to {}: {}", filter, mosquitto_strerror(code)));
  }
}

void MqttClient::Core::on_disconnect(int code) {
  set_up_backoff();
  std::string words = "disconnected";
  {
    const std::lock_guard lock(mutex_);
    connected_ = false;
    last_sign_ = Clock::now();
    if (std::exchange(was_refused_, false)) return;  // why is known, and better than what follows from it
    if (code != 0) words = fmt::format("connection lost: {}", words_of(code));
    words_ = words;
  }
  if (code == 0) return;  // we asked for it
  log(LogLevel::warning, "MQTT: " + words);
}

void MqttClient::Core::on_message(const mosquitto_message& message) {
  set_inside(true);
  const std::string_view payload{static_cast<const char*>(message.payload),
                                 static_cast<std::size_t>(message.payloadlen)};
  for (const Subscription& subscription : subscriptions_) {
    bool matches = false;
    mosquitto_topic_matches_sub(subscription.filter.c_str(), message.topic, &matches);
    if (!matches || subscription.take({payload, message.topic})) continue;
    std::unique_lock lock(mutex_);
    is_stuck_ = true;
    stuck_.notify_all();
    for (;;) stuck_.wait(lock);  // to return would acknowledge it: only the end of the process leaves here
  }
  set_inside(false);
}

void MqttClient::Core::set_inside(bool inside) {
  const std::lock_guard lock(mutex_);
  is_inside_ = inside;
  stuck_.notify_all();
}

bool MqttClient::Core::publish(const std::string& topic, const std::string& payload, bool retain) {
  {
    const std::lock_guard lock(mutex_);
    if (!connected_) return false;
  }
  const std::string whole = config_.prefix + "/" + topic;
  return mosquitto_publish(client_, nullptr, whole.c_str(), static_cast<int>(payload.size()), payload.data(),
                           qos, retain) == MOSQ_ERR_SUCCESS;
}

SourceState MqttClient::Core::state() const {
  const std::lock_guard lock(mutex_);
  return {connected_, false, "MQTT " + words_};
}

void MqttClient::Core::revive() {
  {
    const std::lock_guard lock(mutex_);
    if (connected_ || is_stuck_ || Clock::now() - last_sign_ < given_up) return;
    last_sign_ = Clock::now();
  }
  log(LogLevel::warning, "MQTT: no connection for a long time; beginning anew");
  begin();
}

bool MqttClient::Core::stop() {
  if (connecting_.joinable()) connecting_.join();
  if (!looping_) return true;
  publish("status", R"({"status":"offline"})", true);
  mosquitto_disconnect(client_);
  {
    std::unique_lock lock(mutex_);
    stuck_.wait(lock, [this] { return !is_inside_ || is_stuck_; });
    if (is_stuck_) return false;
  }
  mosquitto_loop_stop(client_, false);
  looping_ = false;
  return true;
}

MqttClient::MqttClient(std::unique_ptr<Core> core) : core_(std::move(core)) {}

MqttClient::~MqttClient() {
  if (core_ && !core_->stop()) static_cast<void>(core_.release());  // its thread still stands in it
}

Outcome<std::unique_ptr<MqttClient>> MqttClient::start(const MqttConfig& config,
                                                       std::vector<Subscription> subscriptions,
                                                       OnConnected on_connected) {
  auto core = std::make_unique<Core>(config, std::move(subscriptions), std::move(on_connected));
  if (const Verdict verdict = core->set_up(); !verdict) return verdict.refusal();
  core->begin();
  return std::unique_ptr<MqttClient>(new MqttClient(std::move(core)));
}

SourceState MqttClient::state() const {
  return core_->state();
}
bool MqttClient::stop() {
  return core_->stop();
}
bool MqttClient::publish(const std::string& topic, const std::string& payload, bool retain) {
  return core_->publish(topic, payload, retain);
}
void MqttClient::revive() {
  core_->revive();
}

}  // namespace mixstream
