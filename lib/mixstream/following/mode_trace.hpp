// What modes did over the stream, in bounded memory, for pictures: how many rows each had in equal stretches
// of the stream, which was likeliest in the last rows, and how long stays lasted.
//
// Stretches are joined in pairs and double in length when there is no room. A stay is counted when it ends
// and its beginning was seen; a mode begins once the filter is sure of it, so stays too short for that are
// missed. By powers of two: [1, 2), [2, 4), [4, 8) rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mixstream/modes/chains.hpp"

namespace mixstream {

/// All that is remembered, as plain numbers.
struct ModeTraceState {
  struct Stay {
    std::uint64_t mode = 0;  ///< one more than the law; 0: none yet
    std::uint64_t rows = 0;
    bool whole = false;  ///< its beginning was seen

    friend bool operator==(const Stay&, const Stay&) = default;
  };
  std::uint64_t stretches = 0;
  std::uint64_t stretch_rows = 1;    ///< of a full stretch
  std::uint64_t open_rows = 0;       ///< in the newest; 0: the next row opens one
  std::vector<double> shares;        ///< expected rows in each mode, stretch by stretch, most_stretches x k
  std::vector<std::uint64_t> stays;  ///< that ended, k x most_lengths
  std::vector<Stay> now;             ///< of each chain
  std::vector<std::uint64_t> last;   ///< a ring: 256 times the slot, plus the likeliest mode
  std::uint64_t rows = 0;

  friend bool operator==(const ModeTraceState&, const ModeTraceState&) = default;
};

/// Allocates at construction only; one thread at a time.
class ModeTrace {
 public:
  static constexpr std::size_t most_stretches = 256;
  static constexpr std::size_t most_lengths = 32;  ///< powers of two
  static constexpr std::size_t most_last = 512;
  static constexpr double sure = 0.9;  ///< probability from which on a mode is taken to hold

  ModeTrace(std::size_t component_count, std::size_t most_chains);
  static bool is_sound(const ModeTraceState& state, std::size_t component_count, std::size_t most_chains);
  void restore(const ModeTraceState& state) { state_ = state; }  ///< one that is sound
  const ModeTraceState& state() const noexcept { return state_; }
  std::size_t component_count() const noexcept { return k_; }

  /// A row and the probabilities of its mode. No throw, no allocation; k additions, rarely a move of half of
  /// what is held.
  void add(const ChainTable::Step& step, std::span<const double> probabilities) noexcept;
  /// Adds another trace of the same laws behind this one; its chains are cut. No throw.
  void append(const ModeTrace& other) noexcept;

  /// Likeliest modes of the last rows of the chain in this slot, oldest first. Allocates.
  std::vector<std::size_t> last_of(std::size_t slot) const;

 private:
  void join_stretches() noexcept;
  void note_stay(const ChainTable::Step& step, std::span<const double> probabilities,
                 std::size_t likeliest) noexcept;
  std::span<double> stretch(std::size_t i) noexcept { return std::span(state_.shares).subspan(i * k_, k_); }

  std::size_t k_;
  ModeTraceState state_;
};

}  // namespace mixstream
