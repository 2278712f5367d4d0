#include "mqtt_session.hpp"

#include <fmt/format.h>
#include <mqtt_protocol.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <thread>
#include <utility>

#include "../alarm_words.hpp"
#include "../log.hpp"
#include "../urgency.hpp"
#include "mqtt_setup.hpp"
#include "topic_filter.hpp"

namespace mixstream {
namespace {

using namespace std::chrono_literals;

constexpr int qos = 1;
constexpr double longest_backoff = 60.0;  // seconds
constexpr auto longest_greeting = 20s;    // of a broker that has taken the connection
constexpr auto short_life = 10s;          // of a connection that somebody else may have ended
constexpr auto settle_again = 20s;        // where the broker refused a subscription
constexpr std::uint32_t largest_packet = 4 << 20;
constexpr std::size_t most_together = 64;             // messages that share a sync
constexpr std::size_t most_bytes_together = 1 << 16;  // so that a journal grows little beyond its limit
const char* const offline = R"({"status":"offline"})";

/// The library once, for the whole process.
void begin_library() {
  static const int begun = mosquitto_lib_init();
  static_cast<void>(begun);
}

std::set<std::string> filters_of(const std::vector<Subscription>& subscriptions) {
  std::set<std::string> filters;
  for (const Subscription& subscription : subscriptions)
    filters.insert(subscription.filters.begin(), subscription.filters.end());
  return filters;
}

bool matches(const Subscription& subscription, std::string_view topic) {
  return std::ranges::any_of(subscription.filters,
                             [&](const std::string& filter) { return filter_matches(filter, topic); });
}

}  // namespace

MqttClient::Session::Session(SessionSettings settings)
    : settings_(std::move(settings)),
      broker_(fmt::format("{}:{}", settings_.mqtt.host, settings_.mqtt.port)),
      book_(settings_.notes, fmt::format("{}/{}", broker_, settings_.client_id),
            filters_of(settings_.subscriptions),
            settings_.leftovers ? filters_of(settings_.leftovers()) : std::set<std::string>{}),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      words_(alarm_words::connecting(broker_)) {
  begin_library();
  client_ = mosquitto_new(settings_.client_id.c_str(), false, this);
}

MqttClient::Session::~Session() {
  if (client_ != nullptr) mosquitto_destroy(client_);
}

Done MqttClient::Session::set_up() {
  if (client_ == nullptr) return Refusal{Reason::input_output, "MQTT: the client could not be made"};
  if (Done done = set_up_client(*client_, settings_.mqtt); !done) return done;
  if (settings_.publishes) {  // the broker says "offline" for us when we are gone without a word
    const std::string topic = settings_.mqtt.prefix + "/status";
    const std::string_view will = offline;
    mosquitto_will_set(client_, topic.c_str(), static_cast<int>(will.size()), will.data(), qos, true);
  }
  set_callbacks();
  return std::monostate{};
}

void MqttClient::Session::set_callbacks() {
  mosquitto_connect_v5_callback_set(
      client_, [](mosquitto*, void* session, int code, int flags, const mosquitto_property*) {
        of(session).on_connect(code, flags);
      });
  mosquitto_disconnect_callback_set(
      client_, [](mosquitto*, void* session, int code) { of(session).on_disconnect(code); });
  mosquitto_message_callback_set(client_, [](mosquitto*, void* session, const mosquitto_message* message) {
    of(session).on_message(*message);
  });
  mosquitto_subscribe_callback_set(
      client_, [](mosquitto*, void* session, int message_id, int count, const int* granted) {
        of(session).on_answer(message_id, {granted, static_cast<std::size_t>(count)});
      });
  mosquitto_unsubscribe_callback_set(
      client_, [](mosquitto*, void* session, int message_id) { of(session).on_unsubscribed(message_id); });
  mosquitto_log_callback_set(client_, [](mosquitto*, void* session, int level, const char* text) {
    of(session).on_log(level, text);
  });
}

void MqttClient::Session::begin(const std::shared_ptr<Session>& session) {
  std::thread([session] {
    session->run();
    const std::lock_guard lock(session->mutex_);
    session->ended_ = true;
    session->ended_changed_.notify_all();
  }).detach();
}

void MqttClient::Session::run() {
  if (!settings_.subscriptions.empty()) be_prompt();  // messages come in here
  while (!ending_) {
    if (connect()) serve();
    if (ending_) return;
    if (!is_explained_)
      note_unreachable(
          words_of(last_code_, alarm_words::out_of_reach));  // the library does not always call back
    rest();
  }
}

bool MqttClient::Session::connect() {
  greeted_ = dropped_ = is_taken_ = was_refused_ = is_explained_ = false;
  last_code_ = MOSQ_ERR_CONN_LOST;
  probe_sent_.reset();
  mosquitto_property* properties = nullptr;
  if (is_five()) {
    mosquitto_property_add_int32(&properties, MQTT_PROP_SESSION_EXPIRY_INTERVAL,
                                 settings_.mqtt.session_expiry);
    mosquitto_property_add_int32(&properties, MQTT_PROP_MAXIMUM_PACKET_SIZE, largest_packet);
  }
  const int code = mosquitto_connect_bind_v5(client_, settings_.mqtt.host.c_str(), settings_.mqtt.port,
                                             settings_.mqtt.keepalive, nullptr, properties);
  mosquitto_property_free_all(&properties);
  connected_at_ = Clock::now();
  if (code == MOSQ_ERR_SUCCESS) return true;
  note_unreachable(words_of(code, alarm_words::out_of_reach));
  return false;
}

/// Waits for bytes, for room to write, or for somebody who wakes us.
bool MqttClient::Session::wait_for(int descriptor, short events, std::chrono::milliseconds time) {
  std::array<::pollfd, 2> entries{::pollfd{wake_.number(), POLLIN, 0}, ::pollfd{descriptor, events, 0}};
  ::poll(entries.data(), descriptor < 0 ? 1 : 2, static_cast<int>(std::max<std::int64_t>(time.count(), 0)));
  if (entries[0].revents != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto drained = ::read(wake_.number(), &count, sizeof count);
  }
  return descriptor >= 0 && entries[1].revents != 0;
}

/// Until the connection or the daemon ends.
void MqttClient::Session::serve() {
  next_misc_ = last_look_ = Clock::now();
  const auto nap = std::chrono::milliseconds(
      is_probing() ? std::clamp(static_cast<int>(settings_.mqtt.slow_after * 100.0), 20, 1000) : 1000);
  while (!ending_) {
    const int socket = mosquitto_socket(client_);
    if (socket < 0) return;
    const bool writes = mosquitto_want_write(client_);
    const Clock::time_point began = Clock::now();
    const bool ready = wait_for(socket, static_cast<short>(POLLIN | (writes ? POLLOUT : 0)), nap);
    if (ready) excuse_ourselves(began, nap);
    last_look_ = Clock::now();
    if (!exchange(ready)) return;
    if (!look_after(Clock::now())) return;
  }
  if (mosquitto_socket(client_) >= 0) say_goodbye();
}

/// What has come may have been there for a while. Our own work before a wait that began then, and a wait that
/// took longer than asked, are no silence of the broker: a disk made us slow, or a machine under load. When
/// nothing has come, the broker was silent all that time.
void MqttClient::Session::excuse_ourselves(Clock::time_point began, Clock::duration nap) {
  const Clock::time_point now = Clock::now();
  for (const Clock::duration ours : {began - last_look_, now - began - nap}) {
    if (ours > 5ms) last_heard_ = std::min(last_heard_ + ours, now);
  }
}

/// Reads what is there. False: the connection is over, and the broker sends again what nobody has taken.
bool MqttClient::Session::take_in() {
  held_.clear();
  held_bytes_ = 0;
  do {
    if (!went_well(mosquitto_loop_read(client_, 1))) return false;
  } while (held_.size() < most_together && held_bytes_ < most_bytes_together && more_is_there());
  return true;
}

bool MqttClient::Session::more_is_there() {
  const auto* const tls = static_cast<const SSL*>(mosquitto_ssl_get(client_));
  if (tls != nullptr && SSL_pending(tls) > 0) return true;
  ::pollfd entry{mosquitto_socket(client_), POLLIN, 0};
  return entry.fd >= 0 && ::poll(&entry, 1, 0) > 0;
}

/// Reads what came and writes what waits. False: the connection is over.
bool MqttClient::Session::exchange(bool ready) {
  if (ready && !take_in()) return false;
  if (ready) hand_over_held();
  if (dropped_) {  // with its acknowledgement still in our queue: the next connect empties that
    ::shutdown(mosquitto_socket(client_), SHUT_RDWR);
    on_disconnect(MOSQ_ERR_NOMEM);
    return false;
  }
  return !mosquitto_want_write(client_) || went_well(mosquitto_loop_write(client_, 1));
}

bool MqttClient::Session::went_well(int code) {
  if (code != MOSQ_ERR_SUCCESS) last_code_ = code;
  return code == MOSQ_ERR_SUCCESS;
}

/// What is due by time. False: the connection is over.
bool MqttClient::Session::look_after(Clock::time_point now) {
  if (now >= next_misc_) {
    next_misc_ = now + 1s;
    if (!went_well(mosquitto_loop_misc(client_))) return false;
  }
  if (!greeted_ && now - connected_at_ > longest_greeting) {
    ::shutdown(mosquitto_socket(client_), SHUT_RDWR);
    note_unreachable(alarm_words::out_of_reach("it takes the connection but does not answer"));
    return false;
  }
  if (greeted_ && book_.is_refused() && now >= next_settle_) settle();
  if (greeted_ && is_probing()) probe(now);
  return true;
}

/// Asks for the end of a subscription that nobody made: the answer is all that it does. Asked often and timed
/// from answer to answer, no silence of `slow_after` goes unseen, whenever it begins.
void MqttClient::Session::probe(Clock::time_point now) {
  const std::chrono::duration<double> slow(settings_.mqtt.slow_after);
  if (probe_sent_) {
    if (now - last_heard_ >= slow && !std::exchange(told_of_silence_, true))
      tell("broker_slow", alarm_words::broker_silent(settings_.mqtt.slow_after));
    return;
  }
  if (now < next_probe_) return;
  next_probe_ = now + std::chrono::duration_cast<Clock::duration>(slow / 5);
  const std::string nothing = settings_.mqtt.prefix + "/answer";
  if (mosquitto_unsubscribe(client_, &probe_id_, nothing.c_str()) != MOSQ_ERR_SUCCESS) return;
  probe_sent_ = now;
}

/// Longer after every attempt in vain, and never the same for two daemons that lost the same broker.
void MqttClient::Session::rest() {
  std::uniform_real_distribution<> part(0.5, 1.0);
  backoff_ = std::clamp(backoff_ * 2.0, 1.0, longest_backoff);
  const double seconds = part(random_) * (is_taken_ ? longest_backoff : backoff_);
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  while (!ending_ && Clock::now() < end)
    wait_for(-1, 0, std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()));
}

/// What is queued goes out as far as the broker takes it within a second.
void MqttClient::Session::say_goodbye() {
  if (greeted_ && settings_.publishes) publish(settings_.mqtt.prefix + "/status", offline, true);
  if (greeted_ && forgetting_) book_.end_all(*client_);
  mosquitto_property* properties = nullptr;
  if (is_five() && forgetting_)
    mosquitto_property_add_int32(&properties, MQTT_PROP_SESSION_EXPIRY_INTERVAL, 0);
  mosquitto_disconnect_v5(client_, 0, properties);
  mosquitto_property_free_all(&properties);
  const Clock::time_point end = Clock::now() + 1s;
  while (mosquitto_want_write(client_) && Clock::now() < end) {
    const int socket = mosquitto_socket(client_);
    if (socket < 0) return;
    if (!wait_for(socket, POLLOUT, 50ms)) continue;
    if (mosquitto_loop_write(client_, 1) != MOSQ_ERR_SUCCESS) return;
  }
}

void MqttClient::Session::settle() {
  next_settle_ = Clock::now() + settle_again;
  book_.settle(*client_, session_present_, is_five());
  if (settings_.subscriptions.empty()) on_answer(0, {});
}

void MqttClient::Session::on_connect(int code, int flags) {
  if (code != 0) {
    was_refused_ = true;
    const std::string words = alarm_words::connection_refused(
        broker_, is_five() ? mosquitto_reason_string(code) : mosquitto_connack_string(code));
    log(LogLevel::error, "MQTT: " + words);
    return set_words(words);
  }
  greeted_ = true;
  backoff_ = 0.0;
  next_probe_ = last_heard_ = Clock::now();
  session_present_ = (flags & 1) != 0;
  {
    const std::lock_guard lock(mutex_);
    online_ = true;
  }
  set_words(alarm_words::waiting_for_answer(broker_));
  log(LogLevel::info, fmt::format("MQTT: {} connected to {}, session {}", settings_.client_id, broker_,
                                  session_present_ ? "kept" : "new"));
  if (!session_present_ && !settings_.subscriptions.empty())
    tell("session_lost", alarm_words::session_lost());
  settle();
}

/// Only when every subscription is granted do rows come.
void MqttClient::Session::on_answer(int message_id, std::span<const int> granted) {
  book_.on_answer(message_id, granted);
  if (book_.is_refused()) return set_words(book_.words(), "subscription");
  if (!book_.is_settled()) return;
  set_words(fmt::format("connected to {}", broker_));
  const std::lock_guard lock(mutex_);
  if (!std::exchange(ready_, true)) ++counts_.connects;
}

void MqttClient::Session::on_unsubscribed(int message_id) {
  book_.on_unsubscribed(message_id);
  if (!probe_sent_ || message_id != probe_id_) return;
  const Clock::time_point now = Clock::now();
  const std::chrono::duration<double> silence = now - std::exchange(last_heard_, now);
  probe_sent_.reset();
  told_of_silence_ = false;
  if (silence.count() < settings_.mqtt.slow_after) return;
  tell("broker_slow", alarm_words::broker_was_silent(silence.count()));
}

void MqttClient::Session::on_disconnect(int code) {
  {
    const std::lock_guard lock(mutex_);
    ready_ = online_ = false;
  }
  is_explained_ = true;
  if (was_refused_ || ending_) return;  // why is known, and better than what follows from it
  if (dropped_) return set_words(alarm_words::not_stored());
  judge_end(code);
}

/// Why the connection ended. A second client with our name makes the broker end ours, again and again.
void MqttClient::Session::judge_end(int code) {
  const Clock::time_point now = Clock::now();
  if (greeted_ && now - connected_at_ < short_life) short_lives_.push_back(now);
  std::erase_if(short_lives_, [&](Clock::time_point end) { return now - end > 2min; });
  is_taken_ = code == MQTT_RC_SESSION_TAKEN_OVER || short_lives_.size() >= 3;
  const std::string words = is_taken_ ? alarm_words::session_taken(settings_.client_id)
                                      : alarm_words::connection_lost(words_of(code, alarm_words::cut_off));
  log(LogLevel::warning, "MQTT: " + words);
  set_words(words, is_taken_ ? "session_taken" : "source");
  if (is_taken_) tell("session_taken", words);
}

void MqttClient::Session::on_message(const mosquitto_message& message) {
  if (message.retain) {  // a copy of what came before, or of what came before us
    const std::lock_guard lock(mutex_);
    ++counts_.retained;
    return;
  }
  if (dropped_) return;
  const Arrival arrival{
      .payload = {static_cast<const char*>(message.payload), static_cast<std::size_t>(message.payloadlen)},
      .origin = message.topic};
  if (arrival.payload.size() > most_bytes_together) {  // nobody holds it once more
    hand_over_held();
    return hand_over({&arrival, 1});
  }
  held_.push_back({std::string(arrival.payload), std::string(arrival.origin), arrival.came});
  held_bytes_ += arrival.payload.size();
}

void MqttClient::Session::hand_over_held() {
  std::vector<Arrival> arrivals;
  for (const Held& held : held_)
    arrivals.push_back({.payload = held.payload, .origin = held.topic, .came = held.came});
  hand_over(arrivals);
  held_.clear();
  held_bytes_ = 0;
}

/// Each taker has its messages in the order they came. They are acknowledged once this returns, unless
/// dropped_ is set.
void MqttClient::Session::hand_over(std::span<const Arrival> arrivals) {
  if (dropped_ || arrivals.empty()) return;
  std::vector<const Arrival*> nobodys;
  for (const Arrival& arrival : arrivals) nobodys.push_back(&arrival);
  const auto offer = [&](const std::vector<Subscription>& subscriptions) {
    const std::vector<const Arrival*> offered = nobodys;
    for (const Subscription& subscription : subscriptions) {
      std::vector<Arrival> its;
      for (const Arrival* const arrival : offered) {
        if (!matches(subscription, arrival->origin)) continue;
        its.push_back(*arrival);
        std::erase(nobodys, arrival);
      }
      if (!its.empty() && !dropped_) dropped_ = !subscription.take(its);
    }
  };
  offer(settings_.subscriptions);
  if (!nobodys.empty() && settings_.leftovers) offer(settings_.leftovers());
  if (nobodys.empty() || dropped_) return;
  if (!std::exchange(told_of_unmatched_, true))
    log(LogLevel::warning,
        fmt::format("MQTT: a message at {} matches no stream's topic; such messages are counted "
                    "(mixstream_mqtt_unmatched_total) and dropped",
                    nobodys.front()->origin));
  const std::lock_guard lock(mutex_);
  counts_.unmatched += nobodys.size();
}

/// The library's results say "a TLS error", if anybody is told them; its log knows which.
void MqttClient::Session::on_log(int level, const char* text) {
  const std::string_view line(text);
  if (level != MOSQ_LOG_ERR || line.find("OpenSSL Error") == std::string_view::npos) return;
  tls_trouble_ = tls_words(std::string(line.substr(line.rfind(':') + 1)));
}

/// `advice` says what to look at where the error does not.
std::string MqttClient::Session::words_of(int code, std::string (*advice)(std::string_view error)) {
  if (settings_.mqtt.tls && tls_trouble_.empty() && code == MOSQ_ERR_ERRNO && errno == EPROTO)
    return closed_tls_words(settings_.mqtt);
  std::string trouble = std::exchange(tls_trouble_, "");
  if (!trouble.empty()) return trouble;
  return advice(code > MOSQ_ERR_SUCCESS && code < 128 ? mosquitto_strerror(code)
                                                      : mosquitto_reason_string(code));
}

void MqttClient::Session::note_unreachable(const std::string& why) {
  is_explained_ = true;
  const std::string words = alarm_words::unreachable(broker_, why);
  const bool is_new = [&] {
    const std::lock_guard lock(mutex_);
    return words != words_;
  }();
  if (is_new) log(LogLevel::warning, "MQTT: " + words + "; it is tried again");
  set_words(words);
}

void MqttClient::Session::set_words(std::string words, const std::string& kind) {
  const std::lock_guard lock(mutex_);
  words_ = std::move(words);
  kind_ = kind;
}

void MqttClient::Session::tell(const std::string& kind, const std::string& words) {
  const std::lock_guard lock(mutex_);
  if (events_.size() < 64) events_.push_back({kind, words});
}

SourceState MqttClient::Session::state() const {
  const std::lock_guard lock(mutex_);
  return {ready_, false, "MQTT " + words_, kind_};
}

SourceCounts MqttClient::Session::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::vector<SourceEvent> MqttClient::Session::take_events() {
  const std::lock_guard lock(mutex_);
  return std::exchange(events_, {});
}

bool MqttClient::Session::publish(const std::string& topic, const std::string& payload, bool retain) {
  {
    const std::lock_guard lock(mutex_);
    if (!online_) return false;
  }
  const int code = mosquitto_publish(client_, nullptr, topic.c_str(), static_cast<int>(payload.size()),
                                     payload.data(), qos, retain);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.number(), &one, sizeof one);
  return code == MOSQ_ERR_SUCCESS;
}

void MqttClient::Session::end(bool forget) {
  if (forget) forgetting_ = true;
  {
    const std::lock_guard lock(mutex_);
    if (!ending_) asked_to_end_ = Clock::now();
  }
  ending_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.number(), &one, sizeof one);
}

bool MqttClient::Session::wait_for_end(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return ended_changed_.wait_until(lock, asked_to_end_ + patience, [this] { return ended_; });
}

}  // namespace mixstream
