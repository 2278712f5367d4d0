// Runs of consecutive rows, held beside the sample: what shows how modes and noise follow each other.
//
// The first rows are all held. Once there is no room every second run goes and the runs that follow lie twice
// as far apart, so that at any time runs of equal length are spread evenly over the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mixstream/core/layout.hpp"
#include "mixstream/modes/chains.hpp"
#include "mixstream/rows/pilot.hpp"
#include "mixstream/rows/row.hpp"

namespace mixstream {

/// One row of a run. Steps are those of its chain; a chain that enters a run begins there.
struct RunRow {
  Row row;
  std::size_t slot = 0;
  unsigned steps = 0;
};

/// All that is remembered, as plain numbers.
struct RunState {
  std::size_t feature_count = 0;
  std::size_t run_rows = 256;  ///< of one run
  std::size_t most_runs = 20;
  std::uint64_t apart = 1;          ///< every so-manieth run of the stream is held
  std::uint64_t runs = 0;           ///< of the stream so far, the open one included
  std::vector<std::uint64_t> held;  ///< which runs of the stream are held, oldest first
  std::uint64_t open_rows = 0;      ///< in the open run of the stream
  std::vector<double> rows;         ///< x, y, w, slot, steps, one row after the other
  bool raw = false;                 ///< as they came: the pilot is not fixed yet

  friend bool operator==(const RunState&, const RunState&) = default;
};

/// Allocates at construction only; one thread at a time.
class Runs {
 public:
  explicit Runs(std::size_t feature_count, std::size_t most_rows = 5120);
  explicit Runs(const RunState& state);
  Runs(const Runs& other) : Runs(other.state_) {}  ///< with the same room
  Runs& operator=(const Runs& other) = default;
  Runs(Runs&&) noexcept = default;
  Runs& operator=(Runs&&) noexcept = default;
  ~Runs() = default;
  const RunState& state() const noexcept { return state_; }
  static bool is_sound(const RunState& state, std::size_t most_slots) noexcept;

  /// Adds a row. No throw, no allocation; d stores, rarely a move of half of what is held.
  void add(const Row& row, const ChainTable::Step& step) noexcept;

  /// Whether the next row is none to hold: then it is counted, and need not be added. No throw; one
  /// comparison.
  bool pass() noexcept {
    if (holding_ || state_.open_rows == state_.run_rows) return false;
    ++state_.open_rows;
    return true;
  }

  /// Rows that come before the pilot is fixed are held as they came; with it they are brought to its
  /// coordinates. No throw, no allocation.
  void expect_raw() noexcept { state_.raw = true; }
  bool raw() const noexcept { return state_.raw; }
  void take_pilot(const Layout& layout, const Pilot& pilot) noexcept;

  /// Holds what another stream's runs hold as well, in the same coordinates, as if its rows had come before
  /// or after these: every so-manieth run of both. The shorter of two open runs goes. Allocates.
  void add(const Runs& other);

  std::size_t size() const noexcept { return state_.rows.size() / width(); }
  std::size_t slots() const noexcept;  ///< one more than the largest slot of a row that is held
  /// Row i, oldest first; steps 0 where its chain has no row just before it in what is held. `seen`: one flag
  /// a slot, the caller's, all false before row 0.
  RunRow row(std::size_t i, std::vector<bool>& seen) const;

 private:
  std::size_t width() const noexcept { return state_.feature_count + 4; }
  bool begins_run(std::size_t i) const noexcept { return i % state_.run_rows == 0; }
  void open_run() noexcept;
  void thin_out() noexcept;
  std::size_t open_rows_held() const noexcept;
  void close() noexcept;

  RunState state_;
  bool holding_ = true;  // the open run is held
};

}  // namespace mixstream
