// A new configuration comes into force: what it does not change goes on as if nothing had happened.
#include <algorithm>
#include <set>
#include <utility>

#include "daemon.hpp"
#include "log.hpp"

namespace mixstream {
namespace {

/// The stream of a configuration by its name; null: there is none.
const StreamConfig* find_stream(const Config& config, const std::string& name) {
  const auto found = std::ranges::find(config.streams, name, &StreamConfig::name);
  return found == config.streams.end() ? nullptr : &*found;
}

std::set<std::string> topics_of(const Config& config) {
  std::set<std::string> topics;
  for (const StreamConfig& stream : config.streams)
    for (const std::string& topic : topics_of(stream)) topics.insert(stream.name + " " + topic);
  return topics;
}

}  // namespace

Done Daemon::reload(Config config) {
  renew_certificate(config);  // first: it waits for no stream to be well
  if (config.state_folder != config_.state_folder)
    return Refusal{Reason::bad_settings, "state_folder changes only with a restart"};
  if (const Health now = health(); !now.ok)
    return Refusal{Reason::input_output, "not while this is so: " + now.words};
  const Config old = config_;
  const Done done = put_in_force(std::move(config));
  if (!done) {
    const Done back = put_in_force(old);
    broken_ = !back;
    return broken_ ? back : done;
  }
  set_log(config_.log);
  const std::lock_guard lock(mutex_);
  last_reload_ok_ = true;
  last_reload_ = std::chrono::system_clock::now();
  return std::monostate{};
}

void Daemon::renew_certificate(const Config& next) {
  if (next.http_text != config_.http_text)
    return log(LogLevel::warning, "changes of [http] come into force with a restart");
  if (!web_) return;
  if (const Done renewed = web_->renew(); !renewed)
    log(LogLevel::error, "the old certificate stays in use: " + renewed.refusal().text);
}

/// Ends what the next configuration does not have as it is, saved; the rest goes on meanwhile.
void Daemon::leave(const Config& next) {
  Streams kept;
  Streams left;
  for (const std::shared_ptr<Stream>& stream : all()) {
    const StreamConfig* const wanted = find_stream(next, stream->config().name);
    (wanted != nullptr && wanted->text == stream->config().text ? kept : left).push_back(stream);
  }
  leave_sources(next, left);
  if (!snapshot_all(left))
    log(LogLevel::error, "not every stream could be saved before the new configuration");
  {
    const std::lock_guard lock(mutex_);
    streams_ = kept;
    is_between_ = true;
  }
  for (const std::shared_ptr<Stream>& stream : left) {
    stream->close();  // whoever still looks at it
    notify(Clock::now());
  }
}

/// Ends the sources of the streams that are left, every session where the broker changes, and a shared one
/// that hands messages to a stream that is left. All are asked before the first is waited for: many brokers
/// that do not answer hold us up no longer than one.
void Daemon::leave_sources(const Config& next, const Streams& left) {
  const bool other_broker = next.mqtt != config_.mqtt;
  const auto is_from_broker = [](const std::shared_ptr<Stream>& s) { return !s->config().topic.empty(); };
  const bool other_takers = !config_.mqtt.own_sessions && (topics_of(next) != topics_of(config_) ||
                                                           std::ranges::any_of(left, is_from_broker));
  std::vector<std::unique_ptr<Source>> ending;
  for (const std::shared_ptr<Stream>& stream : all()) {
    const StreamConfig& config = stream->config();
    const bool moves = other_broker && is_from_broker(stream);
    if (!moves && std::ranges::find(left, stream) == left.end()) continue;
    auto source = sources_.extract(config.name);
    if (source.empty()) continue;
    auto* const session = dynamic_cast<MqttClient*>(source.mapped().get());
    if (session != nullptr && find_stream(next, config.name) == nullptr) session->ask_to_forget();
    source.mapped()->ask_to_stop();
    ending.push_back(std::move(source.mapped()));
  }
  if (mqtt_ && (other_broker || other_takers)) {
    mqtt_->ask_to_stop();
    ending.push_back(std::move(mqtt_));
  }
  bool ended = true;
  for (const std::unique_ptr<Source>& source : ending) {
    ended = source->stop() && ended;
    notify(Clock::now());
  }
  if (!ended) log(LogLevel::warning, "a source did not end in time; what it held is not acknowledged");
}

Done Daemon::put_in_force(Config config) {
  ready_ = false;
  leave(config);
  Done done = open_streams(config, all());
  if (done) {
    config_ = std::move(config);
    done = begin_sources();
  }
  ready_ = true;
  return done;
}

}  // namespace mixstream
