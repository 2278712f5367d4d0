// Which rows follow each other: a chain runs within one sensor. Chains are bounded in number; the one that
// has been silent longest gives way and begins anew when its sensor speaks again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mixstream/core/settings.hpp"

namespace mixstream {

/// How a chain goes on with its sensor's next row.
enum class ChainNext : std::uint32_t {
  follows,           ///< it is the row after the last one
  begins,            ///< it is a first one
  begins_after_cut,  ///< it is a first one, for a file or a part ended or a merge came between
};

/// All that is remembered, as plain numbers.
struct ChainState {
  struct Entry {
    std::uint64_t sensor = 0;
    double time = 0.0;          ///< of its last row
    std::uint64_t spoke = 0;    ///< rows of all sensors when it last spoke
    std::uint32_t missing = 0;  ///< rows of it that did not enter since
    ChainNext next = ChainNext::begins;

    friend bool operator==(const Entry&, const Entry&) = default;
  };
  ChainSettings settings;
  std::vector<Entry> entries;  ///< by slot
  std::uint64_t rows = 0;
  std::uint64_t cut_by_gap = 0;   ///< chains that began anew after a silence
  std::uint64_t ran_back = 0;     ///< or because their clock ran back
  std::uint64_t evicted = 0;      ///< or because too many sensors spoke
  std::uint64_t cut_between = 0;  ///< or because a file or a part ended, or a merge came between

  /// Places inside the stream where a chain began anew.
  std::uint64_t all_cuts() const noexcept { return cut_by_gap + ran_back + evicted + cut_between; }

  friend bool operator==(const ChainState&, const ChainState&) = default;
};

/// Allocates at construction only; one thread at a time.
class ChainTable {
 public:
  struct Step {
    std::size_t slot = 0;
    unsigned steps = 0;  ///< since the sensor's last row that entered; 0: its chain begins
  };

  explicit ChainTable(const ChainSettings& settings);
  explicit ChainTable(const ChainState& state);
  ChainTable(const ChainTable& other) : ChainTable(other.state_) {}  ///< with the same room
  ChainTable& operator=(const ChainTable& other) = default;
  ChainTable(ChainTable&&) noexcept = default;
  ChainTable& operator=(ChainTable&&) noexcept = default;
  ~ChainTable() = default;
  const ChainState& state() const noexcept { return state_; }
  std::size_t capacity() const noexcept { return state_.settings.most_chains; }
  std::size_t size() const noexcept { return state_.entries.size(); }

  /// A row of this sensor enters now. No throw, no allocation; one look-up, when a chain gives way
  /// most_chains comparisons.
  Step next(std::uint64_t sensor, double time) noexcept;
  /// A row of this sensor was refused or left out: its chain goes on without it. No throw, no allocation.
  void skip(std::uint64_t sensor) noexcept;
  /// Every chain begins anew with its next row: rows between were read elsewhere. Each that does is counted.
  /// No throw.
  void cut() noexcept;
  /// The same where the rows go on and only what follows them begins anew: nothing is counted. No throw.
  void restart() noexcept;
  /// Adds what another table counted. A sensor that both know was cut between them. Others of the other's
  /// are known from now on, as silent for longer than those here, as long as there is room. No throw, no
  /// allocation; one look-up a sensor.
  void add(const ChainTable& other) noexcept;
  /// Where the sensor's chain stands, if it has one under way. No throw, no allocation; one look-up.
  std::optional<std::size_t> slot_of(std::uint64_t sensor) const noexcept;
  std::size_t newest() const noexcept { return newest_; }  ///< slot of the row that entered last

 private:
  std::size_t find(std::uint64_t sensor) const noexcept;  // place in index_
  std::size_t slot_for(std::uint64_t sensor) noexcept;
  std::size_t make_room() noexcept;
  void forget(std::uint64_t sensor) noexcept;

  ChainState state_;
  std::vector<std::uint32_t> index_;  // slot + 1 by hash of the sensor, 0: free
  std::size_t newest_ = 0;
};

}  // namespace mixstream
