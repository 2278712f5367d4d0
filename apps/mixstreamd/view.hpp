// The daemon as its HTTP pages see it: finished copies behind shared pointers, so that reading never holds up
// ingest or a re-solve. The daemon fills it, web/ serves it, tests put a made-up daemon in its place.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fleet_view.hpp"
#include "histogram.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/modes/modes_now.hpp"
#include "mixstream/report/page.hpp"

namespace mixstream {

using WallTime = std::chrono::system_clock::time_point;  ///< for display only; nothing is scheduled by it

/// Something a person should know.
struct Alarm {
  WallTime time{};
  std::uint64_t row = 0;  ///< of the stream's state, the same count as Report::rows
  std::string kind;       ///< "drift", "poor_fit", "gap", "disk", "source": a short, stable word
  std::string words;      ///< one or two sentences: what happened and what to do
  bool active = true;     ///< false: it is over and shown as history

  friend bool operator==(const Alarm&, const Alarm&) = default;
};

/// Whether something works, and when not what is wrong and what to do.
struct Health {
  bool ok = true;
  std::string words;

  friend bool operator==(const Health&, const Health&) = default;
};

/// Rows since the stream's state began (they survive a restart):
/// in = folded + duplicate + refused.
struct RowTally {
  std::uint64_t in = 0;
  std::uint64_t folded = 0;
  std::uint64_t duplicate = 0;
  std::vector<std::pair<std::string, std::uint64_t>> refused;  ///< by reason; reasons are a small fixed set
  std::uint64_t gaps = 0;     ///< sequence numbers that were skipped; never falls
  std::uint64_t missing = 0;  ///< of them, those that have not come since

  std::uint64_t refused_total() const noexcept {
    std::uint64_t total = 0;
    for (const auto& [reason, count] : refused) total += count;
    return total;
  }
};

/// One fit with what the page draws of it. Made once at each re-solve, then shared unchanged.
struct FitView {
  PageModel model;  ///< report, history, sample and feature map
  WallTime time{};  ///< when the solve ended
};

/// One stream, as it was a moment ago.
struct StreamView {
  std::string name;                 ///< letters, digits, `_`, `-` and `.`: it is part of addresses
  std::string source;               ///< in words: "MQTT plant/+/pump", "socket 127.0.0.1:7001", "stdin"
  std::string feature_map;          ///< "1,t,t^2"
  std::string response;             ///< the column y
  std::size_t component_count = 0;  ///< k as configured; 0: chosen by the fit

  std::shared_ptr<const FitView>
      fit;                  ///< the newest that has laws, or the newest at all; null before the first
  bool stale = false;       ///< newer rows could not be fitted: `fit` is the last good one
  std::string stale_words;  ///< why, and what to do
  bool refit_running = false;

  std::optional<ModesNow> modes;  ///< where its sensors stand; nothing: rows in order are not followed

  std::shared_ptr<const FleetSummary> fleet;  ///< of a model for each group; null: there is one model

  RowTally rows;
  double rows_per_second = 0.0;      ///< over the last few seconds
  std::optional<WallTime> last_row;  ///< when the newest row came
  std::uint64_t refits = 0;          ///< since the start of the daemon
  std::uint64_t refits_failed = 0;   ///< of them, without laws
  double solve_seconds = 0.0;        ///< sum over the refits
  std::size_t sensors = 0;           ///< that are told apart by their sequence numbers
  double solve_recent_mean = 0.0;    ///< of the last 32
  double solve_median = 0.0;         ///< of all since the start, estimated
  double solve_p99 = 0.0;            ///< likewise
  std::uint64_t journal_bytes = 0;   ///< of the segments that are kept, for the older generation too
  std::optional<WallTime> snapshot;  ///< when the newest one was written
  Histogram append_time;             ///< write and sync of a record
  Histogram message_time;            ///< from its coming to its acknowledgement
  Histogram solve_time;
  bool source_connected = true;
  std::string source_words;              ///< how the source is
  std::uint64_t unmatched_messages = 0;  ///< of the broker's session, whose topics fit no stream
  std::uint64_t retained_messages = 0;   ///< copies that the broker keeps, not folded
  Health health;
  std::vector<Alarm> alarms;  ///< newest first; the daemon keeps a bounded number
};

/// Figures of the daemon as a whole.
struct DaemonFigures {
  std::string version;
  WallTime started{};
  bool last_reload_ok = true;  ///< false: the configuration on disk was refused, the old one is in force
  std::optional<WallTime> last_reload;  ///< of the configuration in force, when it is not the first
};

/// What the HTTP thread may ask. Every call is safe from any thread, returns soon (no solve, no disk, no
/// network) and hands out copies that stay as they are.
class DaemonView {
 public:
  virtual ~DaemonView() = default;

  virtual DaemonFigures figures() const = 0;
  virtual std::vector<std::shared_ptr<const StreamView>> streams()
      const = 0;  ///< in the order of the configuration
  virtual std::shared_ptr<const StreamView> find(const std::string& name) const = 0;  ///< null: there is none

  /// Some of a stream's groups, by name. Nothing: an unknown stream, or one without groups.
  virtual std::optional<FleetPage> models(const std::string& /*name*/, std::size_t /*from*/,
                                          std::size_t /*count*/) const {
    return std::nullopt;
  }

  /// Asks for a re-solve soon; returns without waiting for it. Refuses an unknown stream, or one without
  /// rows.
  virtual Done request_refit(const std::string& name) = 0;

  /// Has a sensor's sequence numbers forgotten soon; returns without waiting for it. Refuses an unknown
  /// stream.
  virtual Done request_reset(const std::string& name, const std::string& sensor) = 0;

  virtual Health health() const = 0;  ///< /healthz: not ok when rows cannot be kept or a thread is stuck
  virtual Health ready() const = 0;   ///< /readyz: not ok before states are loaded and sources subscribed
};

}  // namespace mixstream
