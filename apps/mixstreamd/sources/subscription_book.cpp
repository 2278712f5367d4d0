#include "subscription_book.hpp"

#include <fmt/format.h>
#include <mqtt_protocol.h>

#include <sstream>
#include <utility>

#include "../alarm_words.hpp"
#include "../log.hpp"
#include "mixstream/moments/state_file.hpp"

namespace mixstream {
namespace {

constexpr int qos = 1;
constexpr int first_failure = 128;

std::string words_of(int code) {
  if (code == 0) return "it grants QoS 0 only, so rows would be lost: allow QoS 1 (mosquitto: max_qos)";
  if (code == MQTT_RC_NOT_AUTHORIZED || code == first_failure)
    return "not authorized: let the daemon's user subscribe to it in the broker's access list";
  return std::string(mosquitto_reason_string(code)) + ": look at the broker's log";
}

}  // namespace

SubscriptionBook::SubscriptionBook(std::string path, std::string place, std::set<std::string> wanted,
                                   std::set<std::string> guesses)
    : path_(std::move(path)),
      place_(std::move(place)),
      wanted_(std::move(wanted)),
      guesses_(std::move(guesses)),
      noted_(read()) {}

/// A line for the place, then one for each filter. A file that cannot be read is none.
std::set<std::string> SubscriptionBook::read() const {
  if (path_.empty()) return guesses_;
  const Outcome<Bytes> bytes = read_file(path_, 1 << 24);
  if (!bytes) return guesses_;
  std::istringstream lines(
      std::string(reinterpret_cast<const char*>(bytes.value().data()), bytes.value().size()));
  std::string line;
  std::set<std::string> filters;
  if (!std::getline(lines, line) || line != place_) return guesses_;
  while (std::getline(lines, line)) filters.insert(line);
  return filters;
}

void SubscriptionBook::write(const std::set<std::string>& filters) {
  if (filters == noted_ || path_.empty()) return;
  std::string text = place_ + "\n";
  for (const std::string& filter : filters) text += filter + "\n";
  if (const Done written = write_file(path_, std::as_bytes(std::span(text))); written)
    noted_ = filters;
  else
    log(LogLevel::warning, "subscriptions could not be noted: " + written.refusal().text);
}

void SubscriptionBook::settle(mosquitto& client, bool session_present, bool retain_never) {
  waiting_.clear();
  ending_.clear();
  refused_.clear();
  std::set<std::string> old;
  if (session_present) old = noted_;
  std::set<std::string> both = wanted_;
  both.insert(old.begin(), old.end());
  write(both);  // before the broker hears of it
  for (const std::string& filter : wanted_) {
    int id = 0;
    const int code = mosquitto_subscribe_v5(&client, &id, filter.c_str(), qos,
                                            retain_never ? MQTT_SUB_OPT_SEND_RETAIN_NEVER : 0, nullptr);
    if (code == MOSQ_ERR_SUCCESS)
      waiting_.emplace(id, filter);
    else
      refused_.emplace(filter, MQTT_RC_TOPIC_FILTER_INVALID);
  }
  for (const std::string& filter : old) {
    if (wanted_.contains(filter)) continue;
    int id = 0;
    if (mosquitto_unsubscribe(&client, &id, filter.c_str()) != MOSQ_ERR_SUCCESS) continue;
    ending_.emplace(id, filter);
    log(LogLevel::info,
        fmt::format("MQTT: ending the subscription to {}, which the configuration no longer has", filter));
  }
}

void SubscriptionBook::on_answer(int message_id, std::span<const int> granted) {
  const auto found = waiting_.find(message_id);
  if (found == waiting_.end()) return;
  const int code = granted.empty() ? first_failure : granted.front();
  if (code != qos && code != 2) {
    log(LogLevel::error, "MQTT: " + alarm_words::subscription(found->second, words_of(code)));
    refused_[found->second] = code;
  }
  waiting_.erase(found);
}

void SubscriptionBook::on_unsubscribed(int message_id) {
  if (ending_.erase(message_id) > 0 && ending_.empty()) write(wanted_);
}

void SubscriptionBook::end_all(mosquitto& client) {
  for (const std::string& filter : wanted_) mosquitto_unsubscribe(&client, nullptr, filter.c_str());
  write({});
}

std::string SubscriptionBook::words() const {
  std::string words;
  for (const auto& [filter, code] : refused_)
    words += (words.empty() ? "" : "; ") + alarm_words::subscription(filter, words_of(code));
  return words;
}

}  // namespace mixstream
