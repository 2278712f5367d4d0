// One stream, one model: messages become durable, then rows, then laws.
//
// Three threads meet here. A source's calls take(): journal first, then fold. The solver's calls refit(): on
// a copy made at a row boundary, so that rows go on while it solves; what the fit feeds back waits for the
// next message, is journalled in its record (no message waits for the disk twice), and then taken by the
// rows' own estimator, before that message. The keeper's calls snapshot(), and journals feedback that no
// message came for. A restart folds the journal in its order and stands where it stood.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "../config/config.hpp"
#include "../models/fleet.hpp"
#include "../sources/source.hpp"
#include "../view.hpp"
#include "alarms.hpp"
#include "fold.hpp"
#include "fold_marker.hpp"
#include "mixstream/estimator/feedback.hpp"
#include "solve_times.hpp"
#include "store/store.hpp"

namespace mixstream {

class Stream {
 public:
  using Clock = std::chrono::steady_clock;

  /// Reads the newest sound snapshot and folds the journal behind it. Refuses what the store refuses, and a
  /// state of another model than the configuration's.
  static Outcome<std::unique_ptr<Stream>> open(StreamConfig config, const std::string& folder);

  const StreamConfig& config() const noexcept { return config_; }

  // ---- Sources. Any thread, one after the other. ----

  /// Journals the messages under one sync, folds their rows. Returns when they are on disk; while the disk
  /// refuses, it waits and tries again. False: give_up() was called first, and not all of them are stored.
  bool take(std::span<const Arrival> arrivals);
  void give_up();
  /// Lets go of the files, so that another stream can have them; whoever still holds this one finds that it
  /// takes nothing more. Waits for a snapshot that is being written, not for a solve.
  void close();
  /// How far a replayed file was taken in.
  std::uint64_t taken_of(const std::string& file) const;

  // ---- A solver's thread, behind a SolverClaim. ----

  bool claim() noexcept { return !in_hand_.test_and_set(std::memory_order_acquire); }
  void release() noexcept { in_hand_.clear(std::memory_order_release); }

  bool refit_is_due() const;
  void refit();
  /// Looks at groups whose turn it is, one after the other, until so much time has passed.
  void look_at_groups(Clock::duration longest);
  bool is_solved() const;  ///< the newest solve, whatever it gave, saw every row; any thread

  // ---- The keeper's thread. ----

  /// Journals what a fit fed back when no message has come for so long to take it along.
  void keep_feedback(Clock::duration patience);
  void keep_resets();
  bool snapshot_is_due() const;
  Done snapshot();
  /// The last one: what a fit fed back goes with it, and no room is kept for others.
  Done save();

  // ---- Any thread; none of these waits for the disk or a solve. ----

  Done request_refit();
  /// Forgets a sensor's sequence numbers soon: a record of its own, written by the keeper.
  void request_reset(const std::string& sensor);
  /// Called whenever a refit has fallen due. Set before the sources begin.
  void on_due(std::function<void()> wake) { wake_solver_ = std::move(wake); }
  std::shared_ptr<const StreamView> view() const;
  /// Some of the groups, by name; nothing: the stream has none.
  std::optional<FleetPage> models(std::size_t from, std::size_t count) const;
  /// Looks at what happened since the last call and makes alarms of it. One thread.
  void watch(const SourceState& source, const SourceCounts& counts, const std::vector<SourceEvent>& events);
  /// The newest fit as JSON, when it is another than at the last call or `again`.
  std::optional<std::string> fit_to_publish(bool again);
  std::vector<Alarm> take_events();
  void put_back(std::vector<Alarm> events);
  bool is_stuck() const;  ///< somebody has been inside take() for minutes, and the disk is not to blame

 private:
  /// What the view shows of the rows, copied after each message.
  struct Figures {
    RowTally counts;
    std::uint64_t row = 0;  // of the state
    std::size_t sensors = 0;
    std::optional<WallTime> last_row;
    std::optional<DriftEvent> drift;  // the newest
    ModesNow modes;
    bool follows_modes = false;
    std::string disk_trouble;  // empty: none
    std::optional<Clock::time_point> inside_since;
    Histogram append_time;
    Histogram message_time;
  };
  /// What the solver knows.
  struct Fits {
    std::shared_ptr<const FitView> view;
    std::shared_ptr<const FitHistory> history = std::make_shared<FitHistory>();
    bool stale = false;
    std::string stale_words;
    bool running = false;
    std::uint64_t refits = 0;
    std::uint64_t failed = 0;
    double seconds = 0.0;
    SolveTimes times;             // mean of the last ones, quantiles
    std::uint64_t published = 0;  // what of `made`
    std::uint64_t made = 0;       // changes of the view
    double effective_rows = 0.0;  // of the last fit
    Histogram time_histogram;
  };

  /// What alarms have been made of.
  struct Watched {
    std::uint64_t gaps = 0;
    std::uint64_t refused = 0;
    std::uint64_t drift = 0;  // row of the last event
  };

  Stream(StreamConfig config, std::unique_ptr<Store> store, Fold fold, const std::string& folder);
  Done replay_one(const Record& record);
  Done quarantine(const Record& record);
  void read_quarantine();
  std::vector<Section> memory() const;
  Done restore_memory(std::span<const Section> sections);
  Done replay();
  bool append_arrivals(std::span<const Arrival> arrivals, double now, std::unique_lock<std::mutex>& rows);
  Content content_of(const Arrival& arrival, std::string_view source, double now) const;
  bool append(std::span<Content> contents, std::unique_lock<std::mutex>& rows);
  bool append_each(std::span<Content> contents, std::unique_lock<std::mutex>& rows);
  Outcome<std::uint64_t> append_timed(std::span<const Content> contents);
  Outcome<std::uint64_t> keep(std::span<Content> contents);
  bool in_need() const;
  Done snapshot_in_need(const PendingSnapshot& pending);
  bool has_room() const;
  bool wait_for_room(std::unique_lock<std::mutex>& rows);
  bool wait_for_disk(const std::string& trouble, std::unique_lock<std::mutex>& rows);
  void note_trouble(const std::string& trouble, const std::string& consequence);
  void note_rows(std::optional<WallTime> now);
  void tell_refusal();
  void add_devices(Estimator& copy, const std::vector<DeviceStates::Part>& parts) const;
  void set_running(bool running);
  void leave_feedback(const FitFeedback& feedback, std::uint64_t rows_until_due);
  void store_feedback();
  void set_feedback(Bytes feedback);
  void keep_fit(Report report, const Estimator& copy);
  void judge(const Report& report);
  void watch_rate(Clock::time_point now);
  void watch_rows();
  void watch_refused();
  void watch_sensors();
  void watch_disk();
  void watch_fleet();
  Clock::time_point looks_due_since() const;
  std::optional<KnownLaws> laws_of_fleet() const;
  void watch_source(const SourceState& source, const std::vector<SourceEvent>& events, Clock::time_point now);

  const StreamConfig config_;
  const std::string folder_;

  std::mutex keeping_mutex_;       // around snapshots; before rows_mutex_
  mutable std::mutex rows_mutex_;  // the store's appends and the fold, in this order
  std::unique_ptr<Store> store_;   // null: closed
  Fold fold_;
  FoldMarker marker_;
  std::set<std::uint64_t> quarantined_;      // checksums of messages that were put aside
  Bytes feedback_;                           // of the newest fit, waiting for the next message; empty: none
  std::atomic<bool> feedback_waits_{false};  // the same, for who does not hold the lock
  Clock::time_point feedback_since_{};
  Clock::time_point refusal_told_{};  // of a device's state
  std::condition_variable given_up_;
  bool giving_up_ = false;

  std::atomic_flag in_hand_;       // a solver has the stream
  std::optional<Estimator> copy_;  // the solver's: what it works on

  mutable std::mutex view_mutex_;  // held shortly; may be taken inside rows_mutex_, never around it
  Figures figures_;
  Fits fits_;
  Alarms alarms_;
  std::optional<Fleet> fleet_;  // nothing: no groups, now and always
  std::shared_ptr<const FleetSummary> fleet_summary_;
  Clock::time_point looks_asked_ = Clock::time_point::min();
  SourceState source_{false, false, "not started"};
  SourceCounts source_counts_;
  std::vector<std::string> resets_;  // sensors that somebody wants forgotten
  double rows_per_second_ = 0.0;
  Clock::time_point rate_since_ = Clock::now();
  std::uint64_t rate_rows_ = 0;
  Watched watched_;
  Clock::time_point refused_since_{};
  std::optional<WallTime> snapshot_time_;
  std::string snapshot_trouble_;
  const Clock::time_point started_ = Clock::now();

  std::function<void()> wake_solver_;
  std::atomic<bool> refit_wanted_{false};
  std::atomic<bool> rows_say_due_{false};  // by row count, or for the polish
  std::atomic<std::uint64_t> row_count_{0};
  std::atomic<std::uint64_t> journal_bytes_{0};
  std::atomic<bool> disk_refuses_{false};       // the last append
  std::atomic<bool> room_wanted_{false};        // rows wait for a snapshot that shortens the journal
  std::atomic<std::uint64_t> record_count_{0};  // taken by this process
  std::atomic<std::uint64_t> records_kept_{0};  // of them, in a snapshot
  std::atomic<std::uint64_t> rows_at_refit_{0};
  std::atomic<Clock::duration::rep> last_refit_{0};
  std::atomic<Clock::duration::rep> last_snapshot_{0};
};

/// A solver has a stream in hand as long as this lives; false: another one has it.
class SolverClaim {
 public:
  explicit SolverClaim(Stream& stream) noexcept : stream_(stream.claim() ? &stream : nullptr) {}
  ~SolverClaim() {
    if (stream_ != nullptr) stream_->release();
  }
  SolverClaim(const SolverClaim&) = delete;
  SolverClaim& operator=(const SolverClaim&) = delete;
  explicit operator bool() const noexcept { return stream_ != nullptr; }

 private:
  Stream* stream_;
};

}  // namespace mixstream
