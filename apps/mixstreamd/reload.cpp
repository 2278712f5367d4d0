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
  if (config.state_folder != config_.state_folder)
    return Refusal{Reason::bad_settings, "state_folder changes only with a restart"};
  if (const Health now = health(); !now.ok)
    return Refusal{Reason::input_output, "not while this is so: " + now.words};
  if (config.http_text != config_.http_text)
    log(LogLevel::warning, "changes of [http] come into force with a restart");
  else if (web_)
    if (const Done renewed = web_->renew(); !renewed)
      log(LogLevel::error, "the old certificate stays in use: " + renewed.refusal().text);
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

/// Ends what the next configuration does not have as it is, saved; the rest goes on meanwhile.
void Daemon::leave(const Config& next) {
  leave_broker(next);
  Streams kept;
  Streams left;
  for (const std::shared_ptr<Stream>& stream : all()) {
    const StreamConfig* const wanted = find_stream(next, stream->config().name);
    (wanted != nullptr && wanted->text == stream->config().text ? kept : left).push_back(stream);
  }
  for (const std::shared_ptr<Stream>& stream : left) {
    const std::string& name = stream->config().name;
    const auto source = sources_.find(name);
    if (source == sources_.end()) continue;
    auto* const session = dynamic_cast<MqttClient*>(source->second.get());
    if (session != nullptr && find_stream(next, name) == nullptr) session->ask_to_forget();
    source->second->stop();
    sources_.erase(source);
  }
  if (!snapshot_all(left))
    log(LogLevel::error, "not every stream could be saved before the new configuration");
  {
    const std::lock_guard lock(mutex_);
    streams_ = kept;
  }
  for (const std::shared_ptr<Stream>& stream : left) stream->close();  // whoever still looks at it
}

/// The sessions, where the broker or what they share changes.
void Daemon::leave_broker(const Config& next) {
  const bool other_broker = next.mqtt != config_.mqtt;
  if (mqtt_ && (other_broker || (!config_.mqtt.own_sessions && topics_of(next) != topics_of(config_)))) {
    mqtt_->stop();
    mqtt_.reset();
  }
  if (!other_broker) return;
  for (const std::shared_ptr<Stream>& stream : all()) {
    if (stream->config().topic.empty()) continue;
    const auto source = sources_.find(stream->config().name);
    if (source == sources_.end()) continue;
    source->second->stop();
    sources_.erase(source);
  }
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
