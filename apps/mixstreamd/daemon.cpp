#include "daemon.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "log.hpp"
#include "notify.hpp"
#include "side_by_side.hpp"
#include "sources/files.hpp"
#include "sources/line_socket.hpp"
#include "store/files.hpp"

namespace mixstream {
namespace {

using namespace std::chrono_literals;

constexpr auto looking = 100ms;  // at groups of one stream, before the next stream has its turn

CutterSettings cutting_of(const StreamConfig& config) {
  const PayloadSettings& payload = config.payload;
  return {.row_bytes = payload.format == PayloadFormat::f64 ? payload.columns.size() * sizeof(double) : 0};
}

Take take_of(const std::shared_ptr<Stream>& stream) {
  return [stream](std::span<const Arrival> arrivals) { return stream->take(arrivals); };
}

std::vector<Subscription> subscriptions_of(const std::vector<std::shared_ptr<Stream>>& streams) {
  std::vector<Subscription> subscriptions;
  for (const std::shared_ptr<Stream>& stream : streams)
    if (!stream->config().topic.empty())
      subscriptions.push_back({topics_of(stream->config()), take_of(stream)});
  return subscriptions;
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
  if (const Done done = daemon->open_streams(daemon->config_, {}); !done) return done.refusal();
  if (daemon->config_.http) {
    Outcome<std::unique_ptr<WebServer>> web = WebServer::start(*daemon->config_.http, *daemon);
    if (!web) return web.refusal();
    daemon->web_ = std::move(web).value();
    log(LogLevel::info, fmt::format("the page is at {}", daemon->web_->url()));
  }
  daemon->begin_workers();  // first: a source may make a refit due with its first message
  if (const Done done = daemon->begin_sources(); !done) return done.refusal();
  daemon->ready_ = true;
  return daemon;
}

/// The configuration's streams; those of `kept` are not opened but taken as they are.
Done Daemon::open_streams(const Config& config, Streams kept) {
  if (Done made = make_folder(config.state_folder); !made) return made;
  if (Done owned = check_owner(config.state_folder); !owned) return owned;
  Streams opened(config.streams.size());
  std::vector<Done> done(opened.size(), std::monostate{});
  const auto open = [&](std::size_t i) {
    const StreamConfig& wanted = config.streams[i];
    const auto same = std::ranges::find_if(
        kept, [&](const std::shared_ptr<Stream>& stream) { return stream->config().name == wanted.name; });
    if (same != kept.end()) {
      opened[i] = *same;
      return;
    }
    Outcome<std::unique_ptr<Stream>> stream = Stream::open(wanted, config.state_folder + "/" + wanted.name);
    if (!stream) {
      done[i] =
          Refusal{stream.refusal().reason, fmt::format("stream {}: {}", wanted.name, stream.refusal().text)};
      return;
    }
    opened[i] = std::move(stream).value();
    opened[i]->on_due([this] { wake_solvers(); });
  };
  side_by_side(opened.size(), open, [this] { notify(Clock::now()); });
  for (const Done& one : done) {
    if (!one) return one;
  }
  const std::lock_guard lock(mutex_);
  streams_ = std::move(opened);
  is_between_ = false;
  return std::monostate{};
}

void Daemon::begin_workers() {
  for (std::size_t i = 0; i < config_.solvers; ++i)
    solvers_.push_back(std::make_unique<Ticker>(50ms, [this](Ticker& ticker) { solve_due(ticker); }));
  keeper_ = std::make_unique<Ticker>(100ms, [this](Ticker& ticker) { keep_due(ticker); });
}

void Daemon::end_workers() {
  std::vector<Ticker*> workers{keeper_.get()};
  for (const std::unique_ptr<Ticker>& solver : solvers_) workers.push_back(solver.get());
  for (Ticker* const worker : workers)
    while (worker != nullptr && !worker->stop(5s)) notify_manager("WATCHDOG=1");  // a solve may take minutes
  solvers_.clear();
  keeper_.reset();
}

/// All of them within `patience`. False: a solve still goes on.
bool Daemon::stop_solvers(Clock::duration patience) {
  const Clock::time_point end = Clock::now() + patience;
  for (const std::unique_ptr<Ticker>& solver : solvers_) solver->stop(0ms);
  return std::ranges::all_of(solvers_, [&](const std::unique_ptr<Ticker>& solver) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    return solver->stop(std::max(left, 0ms));
  });
}

void Daemon::wake_solvers() {
  for (const std::unique_ptr<Ticker>& solver : solvers_) solver->wake();
}

/// Those that are not there yet.
Done Daemon::begin_sources() {
  if (Done done = begin_broker(); !done) return done;
  for (const std::shared_ptr<Stream>& stream : all()) {
    if (sources_.contains(stream->config().name)) continue;
    if (stream->config().topic.empty()) {
      if (Done done = begin_source(stream); !done) return done;
    } else if (config_.mqtt.own_sessions) {
      Outcome<std::unique_ptr<MqttClient>> session = begin_session(stream);
      if (!session) return session.refusal();
      sources_[stream->config().name] = std::move(session).value();
    }
  }
  return std::monostate{};
}

/// The session that publishes. Where streams have sessions of their own, it only takes what one that they
/// once shared still brings.
Done Daemon::begin_broker() {
  if (!config_.mqtt.enabled || mqtt_) return std::monostate{};
  SessionSettings settings{.mqtt = config_.mqtt,
                           .client_id = config_.mqtt.client_id,
                           .subscriptions = {},
                           .leftovers = {},
                           .notes = config_.state_folder + "/.subscriptions"};
  if (config_.mqtt.own_sessions)
    settings.leftovers = [this] { return takers_now(); };
  else
    settings.subscriptions = subscriptions_of(all());
  Outcome<std::unique_ptr<MqttClient>> mqtt = MqttClient::start(std::move(settings));
  if (!mqtt) return mqtt.refusal();
  mqtt_ = std::move(mqtt).value();
  connects_ = 0;
  return std::monostate{};
}

/// Between two configurations nobody takes anything: the broker sends it again.
std::vector<Subscription> Daemon::takers_now() const {
  const std::lock_guard lock(mutex_);
  if (is_between_) return {{{"#"}, [](std::span<const Arrival> /*arrivals*/) { return false; }}};
  return subscriptions_of(streams_);
}

/// A session of the stream's own: when it cannot store a message, no other stream waits for it.
Outcome<std::unique_ptr<MqttClient>> Daemon::begin_session(const std::shared_ptr<Stream>& stream) const {
  const StreamConfig& config = stream->config();
  return MqttClient::start({.mqtt = config_.mqtt,
                            .client_id = config_.mqtt.client_id + "-" + config.name,
                            .subscriptions = subscriptions_of({stream}),
                            .leftovers = {},
                            .notes = config_.state_folder + "/" + config.name + "/subscriptions",
                            .publishes = false,
                            .probes = false});
}

Done Daemon::begin_source(const std::shared_ptr<Stream>& stream) {
  const StreamConfig& config = stream->config();
  Take take = take_of(stream);
  const CutterSettings cutting = cutting_of(config);
  if (config.standard_input) {
    if (!standard_input_ || standard_input_->settings() != cutting)
      standard_input_ = std::make_shared<Cutter>(cutting);
    sources_[config.name] = read_standard_input(standard_input_, std::move(take));
    return std::monostate{};
  }
  const auto keep = [&](Outcome<std::unique_ptr<Source>> source) -> Done {
    if (!source) return source.refusal();
    sources_[config.name] = std::move(source).value();
    return std::monostate{};
  };
  if (config.socket.empty()) {
    const auto taken = [stream](const std::string& file) { return stream->taken_of(file); };
    return keep(replay_files({config.replay, cutting, header_of(config), taken}, std::move(take)));
  }
  const Outcome<SocketAddress> address = parse_address(config.socket);
  if (!address) return address.refusal();
  return keep(listen_for_lines({.address = address.value(),
                                .cutting = cutting,
                                .idle = std::chrono::seconds(static_cast<std::int64_t>(config.socket_idle))},
                               std::move(take)));
}

/// All at once: many brokers that do not answer hold us up no longer than one.
bool Daemon::end_sources() {
  bool ended = true;
  for (const auto& [stream, source] : sources_) source->ask_to_stop();
  if (mqtt_) mqtt_->ask_to_stop();
  for (const auto& [stream, source] : sources_) ended = source->stop() && ended;
  if (mqtt_) ended = mqtt_->stop() && ended;
  sources_.clear();
  mqtt_.reset();
  return ended;
}

Daemon::Streams Daemon::all() const {
  const std::lock_guard lock(mutex_);
  return streams_;
}

/// Each solver goes round all streams, and passes by those that another one has in hand: a stream that is
/// always due is solved once in a round, as every other.
void Daemon::solve_due(Ticker& ticker) {
  for (const std::shared_ptr<Stream>& stream : all()) {
    const SolverClaim claim(*stream);
    if (!claim) continue;
    if (stream->refit_is_due()) stream->refit();
    stream->look_at_groups(looking);
    ticker.come_around();
  }
}

void Daemon::keep_due(Ticker& ticker) {
  for (const std::shared_ptr<Stream>& stream : all()) {
    ticker.come_around();
    stream->keep_feedback(1s);
    stream->keep_resets();
    if (!stream->snapshot_is_due()) continue;
    if (const Done done = stream->snapshot(); !done)
      log(LogLevel::error, done.refusal().text, stream->config().name);
  }
}

const Source* Daemon::source_of(const std::string& stream) const {
  const auto found = sources_.find(stream);
  return found == sources_.end() ? static_cast<const Source*>(mqtt_.get()) : found->second.get();
}

/// What befell the session that publishes befell every stream of that broker.
void Daemon::watch_sources(const Streams& streams) {
  const std::vector<SourceEvent> shared = mqtt_ ? mqtt_->take_events() : std::vector<SourceEvent>{};
  for (const std::shared_ptr<Stream>& stream : streams) {
    const std::string& name = stream->config().name;
    const auto own = sources_.find(name);
    std::vector<SourceEvent> events;
    if (own != sources_.end()) events = own->second->take_events();
    if (!stream->config().topic.empty()) events.insert(events.end(), shared.begin(), shared.end());
    const Source* const source = source_of(name);
    if (source == nullptr)
      stream->watch({false, false, "not started"}, {}, events);
    else
      stream->watch(source->state(), source->counts(), events);
  }
}

void Daemon::tick() {
  const Clock::time_point now = Clock::now();
  watch_sources(all());
  if (mqtt_) {
    const std::uint64_t connects = mqtt_->connects();
    announcements_.say(*mqtt_, config_.mqtt, all(), std::exchange(connects_, connects) != connects);
  }
  notify(now);
}

/// The watchdog hears of us only while every thread comes around.
void Daemon::notify(Clock::time_point now) {
  const Streams streams = all();
  const std::chrono::duration<double> longest(config_.longest_solve);
  stuck_ = std::ranges::any_of(solvers_, [&](const auto& solver) { return solver->busy() > longest; }) ||
           (keeper_ && keeper_->busy() > longest) ||
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
    if (const Done done = stream->request_refit(); !done)
      log(LogLevel::warning, done.refusal().text, stream->config().name);
  }
}

bool Daemon::snapshot_all(const Streams& streams) {
  std::atomic<bool> saved{true};
  const auto save = [&](std::size_t i) {
    const Done done = streams[i]->save();
    if (done) return;
    log(LogLevel::error, done.refusal().text, streams[i]->config().name);
    saved = false;
  };
  side_by_side(streams.size(), save, [this] { notify(Clock::now()); });
  return saved;
}

bool Daemon::stop() {
  ready_ = false;
  if (mqtt_) announcements_.say(*mqtt_, config_.mqtt, all(), false);
  for (const std::shared_ptr<Stream>& stream : all()) stream->give_up();
  if (!end_sources())
    log(LogLevel::warning, "a source did not end in time; what it held is not acknowledged");
  const bool keeper_ended = !keeper_ || keeper_->stop(4s);
  if (!stop_solvers(1s))  // nothing is lost: it is made again from the same rows
    log(LogLevel::info, "a solve is left unfinished");
  if (!keeper_ended) return false;  // two must not write snapshots at once; the journal has everything
  return snapshot_all(all());
}

bool Daemon::is_done() const {
  for (const std::shared_ptr<Stream>& stream : all()) {
    const Source* const source = source_of(stream->config().name);
    if (source == nullptr || !source->state().done) return false;
    if (stream->is_solved()) continue;
    static_cast<void>(stream->request_refit());
    return false;
  }
  return true;
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

std::optional<FleetPage> Daemon::models(const std::string& name, std::size_t from, std::size_t count) const {
  for (const std::shared_ptr<Stream>& stream : all()) {
    if (stream->config().name == name) return stream->models(from, count);
  }
  return std::nullopt;
}

Done Daemon::request_refit(const std::string& name) {
  for (const std::shared_ptr<Stream>& stream : all()) {
    if (stream->config().name == name) return stream->request_refit();
  }
  return Refusal{Reason::bad_settings, fmt::format("there is no stream '{}'", name)};
}

Done Daemon::request_reset(const std::string& name, const std::string& sensor) {
  for (const std::shared_ptr<Stream>& stream : all()) {
    if (stream->config().name != name) continue;
    stream->request_reset(sensor);
    return std::monostate{};
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
    if (!view->source_connected) return {false, fmt::format("{}: {}", view->name, view->source_words)};
  }
  return {};
}

}  // namespace mixstream
