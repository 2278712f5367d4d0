// The daemon: streams, their sources, the threads that solve and keep, and what is published.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "announcements.hpp"
#include "config/config.hpp"
#include "sources/cutter.hpp"
#include "sources/mqtt.hpp"
#include "sources/source.hpp"
#include "stream/stream.hpp"
#include "ticker.hpp"
#include "view.hpp"
#include "web/server.hpp"

namespace mixstream {

/// start, tick, reload and stop: one thread, the main one. The view: any.
class Daemon final : public DaemonView {
 public:
  /// Opens every stream's state, then the HTTP server, then the sources.
  static Outcome<std::unique_ptr<Daemon>> start(Config config);
  ~Daemon() override;
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  /// A few times a second: alarms, what is published, the broker, the watchdog.
  void tick();
  /// Puts a configuration that has been read and checked into force: streams that it does not change go on as
  /// they are. When it refuses, the old one is in force.
  Done reload(Config config);
  void note_failed_reload();
  bool is_broken() const noexcept { return broken_; }  ///< a reload could not even go back: end
  void refit_all();
  /// Stops the sources and saves everything; a solve is not waited for. False: something could not be saved,
  /// or a thread hangs; then leave by _Exit.
  bool stop();
  /// Every source has ended and all its rows are solved: there is nothing left to do.
  bool is_done() const;
  std::string url() const;  ///< of the page; empty without HTTP

  DaemonFigures figures() const override;
  std::vector<std::shared_ptr<const StreamView>> streams() const override;
  std::shared_ptr<const StreamView> find(const std::string& name) const override;
  std::optional<FleetPage> models(const std::string& name, std::size_t from,
                                  std::size_t count) const override;
  Done request_refit(const std::string& name) override;
  Done request_reset(const std::string& name, const std::string& sensor) override;
  Health health() const override;
  Health ready() const override;

 private:
  using Streams = std::vector<std::shared_ptr<Stream>>;
  using Clock = std::chrono::steady_clock;

  explicit Daemon(Config config);
  Done open_streams(const Config& config, Streams kept);
  Done begin_sources();
  Done begin_source(const std::shared_ptr<Stream>& stream);
  Done begin_broker();
  std::vector<Subscription> takers_now() const;
  Outcome<std::unique_ptr<MqttClient>> begin_session(const std::shared_ptr<Stream>& stream) const;
  bool end_sources();
  void begin_workers();
  void end_workers();
  Done put_in_force(Config config);
  void renew_certificate(const Config& next);
  void leave(const Config& next);
  void leave_sources(const Config& next, const Streams& left);
  bool snapshot_all(const Streams& streams);
  Streams all() const;
  void solve_due(Ticker& ticker);
  void wake_solvers();
  bool stop_solvers(Clock::duration patience);
  void keep_due(Ticker& ticker);
  void notify(Clock::time_point now);
  const Source* source_of(const std::string& stream) const;
  void watch_sources(const Streams& streams);

  Config config_;
  const WallTime started_ = std::chrono::system_clock::now();

  mutable std::mutex mutex_;  // the streams and the reload's figures; held shortly
  Streams streams_;
  bool is_between_ = false;  // those of the next configuration are not yet there
  bool last_reload_ok_ = true;
  std::optional<WallTime> last_reload_;

  std::unique_ptr<MqttClient> mqtt_;  // what we publish; in a shared session what comes, too
  std::map<std::string, std::unique_ptr<Source>> sources_;  // by stream; none for those of a shared session
  Announcements announcements_;
  std::uint64_t connects_ = 0;  // of mqtt_, when all was last published
  std::atomic<bool> ready_{false};
  std::shared_ptr<Cutter> standard_input_;        // outlives a reload: it may hold half a row
  std::vector<std::unique_ptr<Ticker>> solvers_;  // any of them solves any stream, one at a time each
  std::unique_ptr<Ticker> keeper_;
  std::atomic<bool> stuck_{false};
  bool broken_ = false;
  Clock::time_point last_watchdog_{};
  Clock::time_point last_status_{};
  std::unique_ptr<WebServer> web_;  // last: it asks the view
};

}  // namespace mixstream
