// The thread behind an MqttClient: connects, serves, rests, connects again.
#pragma once

#include <mosquitto.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "../descriptor.hpp"
#include "mqtt.hpp"
#include "subscription_book.hpp"

namespace mixstream {

class MqttClient::Session {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Session(SessionSettings settings);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Done set_up();
  static void begin(const std::shared_ptr<Session>& session);

  // ---- Any thread; none of these waits for the broker. ----
  SourceState state() const;
  SourceCounts counts() const;
  std::vector<SourceEvent> take_events();
  bool publish(const std::string& topic, const std::string& payload, bool retain);
  void end(bool forget);
  /// So long after end(). False: its thread hangs in the system, or in a take.
  bool wait_for_end(std::chrono::milliseconds patience);

 private:
  static Session& of(void* session) { return *static_cast<Session*>(session); }
  void set_callbacks();
  void run();
  bool connect();
  void serve();
  bool exchange(bool ready);
  bool take_in();
  bool more_is_there();
  void hand_over_held();
  void hand_over(std::span<const Arrival> arrivals);
  bool went_well(int code);
  bool look_after(Clock::time_point now);
  void probe(Clock::time_point now);
  void excuse_ourselves(Clock::time_point began, Clock::duration nap);
  void rest();
  void say_goodbye();
  void on_connect(int code, int flags);
  void on_disconnect(int code);
  void on_message(const mosquitto_message& message);
  void on_answer(int message_id, std::span<const int> granted);
  void on_unsubscribed(int message_id);
  void on_log(int level, const char* text);
  void settle();
  void judge_end(int code);
  void set_words(std::string words, const std::string& kind = "source");
  void tell(const std::string& kind, const std::string& words);
  void note_unreachable(const std::string& why);
  std::string words_of(int code, std::string (*advice)(std::string_view error));
  bool wait_for(int descriptor, short events, std::chrono::milliseconds time);
  bool is_five() const { return settings_.mqtt.version == "5"; }
  bool is_probing() const { return settings_.probes && settings_.mqtt.slow_after > 0.0; }

  /// A message that has come and is with nobody yet.
  struct Held {
    std::string payload;
    std::string topic;
    Clock::time_point came;
  };

  const SessionSettings settings_;
  const std::string broker_;  // in words: host:port
  SubscriptionBook book_;
  mosquitto* client_ = nullptr;
  Descriptor wake_;
  std::atomic<bool> ending_{false};
  std::atomic<bool> forgetting_{false};

  // The session's thread alone.
  std::mt19937 random_{std::random_device{}()};
  double backoff_ = 0.0;  // seconds, the next
  std::vector<Held> held_;
  std::size_t held_bytes_ = 0;
  bool greeted_ = false;  // by a CONNACK
  bool session_present_ = false;
  bool told_of_unmatched_ = false;
  bool told_of_silence_ = false;
  bool dropped_ = false;       // a message could not be stored: nothing more is taken from this connection
  bool is_taken_ = false;      // somebody else came with our name
  bool was_refused_ = false;   // by the broker, in words
  bool is_explained_ = false;  // why the connection ended is in words
  int last_code_ = 0;          // of the library, where it failed
  Clock::time_point connected_at_{};
  Clock::time_point next_misc_{};
  Clock::time_point next_settle_{};
  Clock::time_point next_probe_{};
  Clock::time_point last_look_{};   // at the connection
  Clock::time_point last_heard_{};  // an answer to what we asked
  std::optional<Clock::time_point> probe_sent_;
  int probe_id_ = 0;
  std::vector<Clock::time_point> short_lives_;  // ends of connections that were soon lost
  std::string tls_trouble_;                     // what the library's log last said of TLS, in words

  mutable std::mutex mutex_;
  std::condition_variable ended_changed_;
  bool ended_ = false;
  Clock::time_point asked_to_end_{};
  bool ready_ = false;  // connected, and every subscription is granted
  bool online_ = false;
  std::string words_;
  std::string kind_ = "source";
  SourceCounts counts_;
  std::vector<SourceEvent> events_;
};

}  // namespace mixstream
