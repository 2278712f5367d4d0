#include "daemon.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "log.hpp"
#include "notify.hpp"
#include "sources/files.hpp"
#include "sources/line_socket.hpp"
#include "store/files.hpp"

namespace mixstream {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_solve = 10min;  // before the watchdog takes the solver for dead

CutterSettings cutting_of(const StreamConfig& config) {
  const PayloadSettings& payload = config.payload;
  return {.row_bytes = payload.format == PayloadFormat::f64 ? payload.columns.size() * sizeof(double) : 0};
}

std::string header_of(const StreamConfig& config) {
  std::string header;
  if (config.payload.format != PayloadFormat::csv) return header;
  for (const std::string& column : config.payload.columns) {
    if (!header.empty()) header += config.payload.delimiter;
    header += column;
  }
  return header;
}

}  // namespace

Daemon::Daemon(Config config) : config_(std::move(config)) {}

Daemon::~Daemon() {
  web_.reset();
  end_sources();
  end_workers();
}

Outcome<std::unique_ptr<Daemon>> Daemon::start(Config config) {
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(config)));
  if (const Verdict verdict = daemon->open_streams(daemon->config_, {}); !verdict) return verdict.refusal();
  if (daemon->config_.http) {
    Outcome<std::unique_ptr<WebServer>> web = WebServer::start(*daemon->config_.http, *daemon);
    if (!web) return web.refusal();
    daemon->web_ = std::move(web).value();
    log(LogLevel::info, fmt::format("the page is at {}", daemon->web_->url()));
  }
  if (const Verdict verdict = daemon->begin(); !verdict) return verdict.refusal();
  return daemon;
}

/// The configuration's streams; those of `kept` are not opened but taken as they are.
Verdict Daemon::open_streams(const Config& config, Streams kept) {
  if (Verdict made = make_folder(config.state_folder); !made) return made;
  Streams opened;
  for (const StreamConfig& wanted : config.streams) {
    const auto same = std::ranges::find_if(
        kept, [&](const std::shared_ptr<Stream>& stream) { return stream->config().name == wanted.name; });
    if (same != kept.end()) {
      opened.push_back(*same);
      continue;
    }
    Outcome<std::unique_ptr<Stream>> stream = Stream::open(wanted, config.state_folder + "/" + wanted.name);
    if (!stream)
      return Refusal{stream.refusal().reason,
                     fmt::format("stream {}: {}", wanted.name, stream.refusal().text)};
    opened.emplace_back(std::move(stream).value());
    opened.back()->on_due([this] {
      if (solver_) solver_->wake();
    });
  }
  const std::lock_guard lock(mutex_);
  streams_ = std::move(opened);
  return std::monostate{};
}

/// Workers first: a source may make a refit due with its first message.
Verdict Daemon::begin() {
  begin_workers();
  Verdict verdict = begin_sources();
  ready_ = static_cast<bool>(verdict);
  return verdict;
}

void Daemon::begin_workers() {
  solver_ = std::make_unique<Ticker>(50ms, [this] { solve_due(); });
  keeper_ = std::make_unique<Ticker>(100ms, [this] { keep_due(); });
}

void Daemon::end_workers() {
  for (std::unique_ptr<Ticker>* worker : {&solver_, &keeper_}) {
    while (*worker && !(*worker)->stop(5s)) notify_manager("WATCHDOG=1");  // a solve may take minutes
    worker->reset();
  }
}

Verdict Daemon::begin_sources() {
  sources_.clear();
  std::vector<Subscription> subscriptions;
  for (const std::shared_ptr<Stream>& stream : all()) {
    sources_.emplace_back();
    if (!stream->config().topic.empty()) {
      subscriptions.push_back(
          {stream->config().topic, [stream](const Arrival& arrival) { return stream->take(arrival); }});
      continue;
    }
    if (Verdict verdict = begin_source(stream); !verdict) return verdict;
  }
  if (!config_.mqtt.enabled) return std::monostate{};
  const auto note = [this](bool session_present) {
    if (!session_present) session_lost_ = true;
    connected_anew_ = true;
  };
  Outcome<std::unique_ptr<MqttClient>> mqtt = MqttClient::start(config_.mqtt, std::move(subscriptions), note);
  if (!mqtt) return mqtt.refusal();
  mqtt_ = std::move(mqtt).value();
  return std::monostate{};
}

/// The source of the stream that sources_ ends with.
Verdict Daemon::begin_source(const std::shared_ptr<Stream>& stream) {
  const StreamConfig& config = stream->config();
  Take take = [stream](const Arrival& arrival) { return stream->take(arrival); };
  const CutterSettings cutting = cutting_of(config);
  if (config.standard_input) {
    if (!standard_input_ || standard_input_->settings() != cutting)
      standard_input_ = std::make_shared<Cutter>(cutting);
    sources_.back() = read_standard_input(standard_input_, std::move(take));
    return std::monostate{};
  }
  const auto keep = [this](Outcome<std::unique_ptr<Source>> source) -> Verdict {
    if (!source) return source.refusal();
    sources_.back() = std::move(source).value();
    return std::monostate{};
  };
  if (config.socket.empty()) {
    const auto taken = [stream](const std::string& file) { return stream->taken_of(file); };
    return keep(replay_files({config.replay, cutting, header_of(config), taken}, std::move(take)));
  }
  const Outcome<SocketAddress> address = parse_address(config.socket);
  if (!address) return address.refusal();
  return keep(listen_for_lines({.address = address.value(), .cutting = cutting}, std::move(take)));
}

/// False: a source hangs in a message that could not be stored.
bool Daemon::end_sources() {
  bool ended = true;
  for (const std::unique_ptr<Source>& source : sources_) {
    if (source) ended = source->stop() && ended;
  }
  if (mqtt_) ended = mqtt_->stop() && ended;
  if (!ended) return false;
  sources_.clear();
  mqtt_.reset();
  return true;
}

Daemon::Streams Daemon::all() const {
  const std::lock_guard lock(mutex_);
  return streams_;
}

void Daemon::solve_due() {
  for (const std::shared_ptr<Stream>& stream : all()) {
    if (stream->refit_is_due()) stream->refit();
  }
}

void Daemon::keep_due() {
  for (const std::shared_ptr<Stream>& stream : all()) {
    stream->keep_feedback(1s);
    if (!stream->snapshot_is_due()) continue;
    if (const Verdict verdict = stream->snapshot(); !verdict)
      log(LogLevel::error, verdict.refusal().text, stream->config().name);
  }
}

SourceState Daemon::source_state(std::size_t stream) const {
  if (stream < sources_.size() && sources_[stream]) return sources_[stream]->state();
  return mqtt_ ? mqtt_->state() : SourceState{false, false, "not started"};
}

void Daemon::tick() {
  const Clock::time_point now = Clock::now();
  const Streams streams = all();
  for (std::size_t i = 0; i < streams.size(); ++i) streams[i]->watch(source_state(i));
  if (session_lost_.exchange(false)) {
    for (const std::shared_ptr<Stream>& stream : streams) {
      if (!stream->config().topic.empty()) stream->session_was_lost();
    }
  }
  if (mqtt_) {
    mqtt_->revive();
    publish(connected_anew_.exchange(false));
  }
  notify(now);
}

void Daemon::publish(bool again) {
  if (again) publish_status();
  const bool connected = mqtt_->state().connected;
  for (const std::shared_ptr<Stream>& stream : all()) {
    const std::string& name = stream->config().name;
    if (!connected) return;
    if (const std::optional<std::string> fit = stream->fit_to_publish(again))
      mqtt_->publish(name + "/fit", *fit, true);
    std::vector<Alarm> events = stream->take_events();
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (mqtt_->publish(name + "/event", to_json(events[i], name), false)) continue;
      events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(i));
      stream->put_back(std::move(events));
      break;
    }
  }
}

void Daemon::publish_status() {
  nlohmann::ordered_json status{{"status", "online"}, {"version", MIXSTREAM_VERSION}};
  for (const std::shared_ptr<Stream>& stream : all()) status["streams"].push_back(stream->config().name);
  mqtt_->publish("status", status.dump(), true);
}

/// The watchdog hears of us only while every thread comes around.
void Daemon::notify(Clock::time_point now) {
  const Streams streams = all();
  stuck_ = (solver_ && solver_->busy() > longest_solve) || (keeper_ && keeper_->busy() > longest_solve) ||
           std::ranges::any_of(streams, [](const std::shared_ptr<Stream>& s) { return s->is_stuck(); });
  if (now - last_status_ >= 5s) {
    last_status_ = now;
    std::string words;
    for (const std::shared_ptr<Stream>& stream : streams) {
      const std::shared_ptr<const StreamView> view = stream->view();
      words += fmt::format("{}{}: {} rows", words.empty() ? "" : ", ", view->name, view->rows.folded);
    }
    notify_manager("STATUS=" + words);
  }
  const std::optional<std::chrono::microseconds> period = watchdog_period();
  if (!period || stuck_ || now - last_watchdog_ < *period) return;
  last_watchdog_ = now;
  notify_manager("WATCHDOG=1");
}

void Daemon::refit_all() {
  for (const std::shared_ptr<Stream>& stream : all()) {
    if (const Verdict verdict = stream->request_refit(); !verdict)
      log(LogLevel::warning, verdict.refusal().text, stream->config().name);
  }
}

bool Daemon::snapshot_all() {
  bool saved = true;
  for (const std::shared_ptr<Stream>& stream : all()) {
    stream->keep_feedback(0s);
    const Verdict verdict = stream->snapshot();
    if (!verdict) log(LogLevel::error, verdict.refusal().text, stream->config().name);
    saved = saved && verdict;
  }
  return saved;
}

bool Daemon::stop() {
  ready_ = false;
  if (mqtt_) publish(false);
  for (const std::shared_ptr<Stream>& stream : all()) stream->give_up();
  const bool sources_ended = end_sources();
  const bool keeper_ended = !keeper_ || keeper_->stop(4s);
  if (solver_ && !solver_->stop(1s))  // nothing is lost: it is made again from the same rows
    log(LogLevel::info, "a solve is left unfinished");
  if (!keeper_ended) return false;  // two must not write snapshots at once; the journal has everything
  const bool saved = snapshot_all();
  return sources_ended && saved;
}

bool Daemon::is_done() const {
  const Streams streams = all();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (!source_state(i).done) return false;
    if (streams[i]->is_solved()) continue;
    static_cast<void>(streams[i]->request_refit());
    return false;
  }
  return true;
}

Verdict Daemon::reload(Config config) {
  if (config.state_folder != config_.state_folder)
    return Refusal{Reason::bad_settings, "state_folder changes only with a restart"};
  if (const Health now = health(); !now.ok)
    return Refusal{Reason::input_output, "not while this is so: " + now.words};
  Streams kept;
  for (const std::shared_ptr<Stream>& stream : all()) {
    const auto same = std::ranges::find_if(config.streams, [&](const StreamConfig& wanted) {
      return wanted.name == stream->config().name && wanted.text == stream->config().text;
    });
    if (same != config.streams.end()) kept.push_back(stream);
  }
  if (config.http_text != config_.http_text)
    log(LogLevel::warning, "changes of [http] come into force with a restart");
  const Config old = config_;
  rest();
  if (!snapshot_all()) log(LogLevel::error, "not every stream could be saved before the new configuration");
  const Verdict verdict = put_in_force(std::move(config), kept);
  if (!verdict) {
    rest();
    const Verdict back = put_in_force(old, kept);
    broken_ = !back;
    return broken_ ? back : verdict;
  }
  set_log(config_.log);
  const std::lock_guard lock(mutex_);
  last_reload_ok_ = true;
  last_reload_ = std::chrono::system_clock::now();
  return std::monostate{};
}

/// Ends every thread that touches streams; the sources keep for us what comes meanwhile, as far as they can.
void Daemon::rest() {
  ready_ = false;
  end_sources();
  end_workers();
}

Verdict Daemon::put_in_force(Config config, const Streams& kept) {
  {
    const std::lock_guard lock(mutex_);
    streams_ = kept;  // closes the others, so that their folders are free
  }
  if (Verdict verdict = open_streams(config, kept); !verdict) return verdict;
  config_ = std::move(config);
  return begin();
}

void Daemon::note_failed_reload() {
  const std::lock_guard lock(mutex_);
  last_reload_ok_ = false;
}

std::string Daemon::url() const {
  return web_ ? web_->url() : "";
}

DaemonFigures Daemon::figures() const {
  const std::lock_guard lock(mutex_);
  return {MIXSTREAM_VERSION, started_, last_reload_ok_, last_reload_};
}

std::vector<std::shared_ptr<const StreamView>> Daemon::streams() const {
  std::vector<std::shared_ptr<const StreamView>> views;
  for (const std::shared_ptr<Stream>& stream : all()) views.push_back(stream->view());
  return views;
}

std::shared_ptr<const StreamView> Daemon::find(const std::string& name) const {
  for (const std::shared_ptr<Stream>& stream : all()) {
    if (stream->config().name == name) return stream->view();
  }
  return nullptr;
}

Verdict Daemon::request_refit(const std::string& name) {
  for (const std::shared_ptr<Stream>& stream : all()) {
    if (stream->config().name == name) return stream->request_refit();
  }
  return Refusal{Reason::bad_settings, fmt::format("there is no stream '{}'", name)};
}

Health Daemon::health() const {
  if (stuck_) return {false, "a thread has not come around for minutes: restart the daemon and report this"};
  for (const std::shared_ptr<const StreamView>& view : streams()) {
    if (!view->health.ok) return {false, fmt::format("{}: {}", view->name, view->health.words)};
  }
  return {};
}

Health Daemon::ready() const {
  if (!ready_) return {false, "states are being loaded, or saved for the end"};
  for (const std::shared_ptr<const StreamView>& view : streams()) {
    if (!view->source_connected) return {false, fmt::format("{}: the source is not connected", view->name)};
  }
  return {};
}

}  // namespace mixstream
