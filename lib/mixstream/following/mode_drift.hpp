// Drift of rows in order: whether laws, noise, or the ways between modes have changed; not that a mode lasts.
//
// Scores given the past sum to zero within their own information whatever x and the modes do, so their sum S
// over recent blocks is held against V, the information of those very rows. A block in one mode says nothing
// of the other laws, and V knows it. The anchor errs, too, by H^-1, H the information of all rows, and a
// block sees that as V H^-1 V: little where a law has long been known, all where it was hardly ever seen.
// With both,
//
//   S' (V + V H^-1 V)^-1 S = S' V^-1 S - S' (H + V)^-1 S
//
// is about chi-square. It is read over the last block, and over averages that fade within about ten blocks
// and a hundred. The ways between modes are judged by counts: transition_watch.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mixstream/following/drift.hpp"
#include "mixstream/following/transition_watch.hpp"
#include "mixstream/linalg/pivoted_cholesky.hpp"
#include "mixstream/modes/mode_polish.hpp"

namespace mixstream {

struct ModeDriftSettings {
  std::uint64_t block_rows = 1024;   ///< judged together; a multiple of 64
  std::uint64_t settle_rows = 6250;  ///< of a polish, before it is judged
  double limit = 6.0;                ///< standard deviations that make an event
  double enough_changes = 20.0;      ///< expected on either side of a boundary at which a chain is judged
  double change_limit = 5.7;         ///< the same for the likeliest boundary among some 64

  friend bool operator==(const ModeDriftSettings&, const ModeDriftSettings&) = default;
};

/// A fading sum of blocks.
struct FadingScores {
  std::vector<double> score;        ///< S
  std::vector<double> information;  ///< V, packed
  double weight = 0.0;
  double weight_squares = 0.0;

  friend bool operator==(const FadingScores&, const FadingScores&) = default;
};

struct ModeDriftState {
  static constexpr std::array<double, 3> fading = {1.0, 0.1, 0.01};  ///< share of the newest block
  ModeDriftSettings settings;
  std::array<FadingScores, fading.size()> recent;
  FadingScores block;          ///< the open block
  std::vector<double> counts;  ///< its expected transitions, k x k
  TransitionWatchState ways;   ///< those of all blocks
  std::uint64_t block_rows = 0;
  bool out = false;  ///< an event was raised and the readings have not come back since
  double deviations = 0.0;

  friend bool operator==(const ModeDriftState&, const ModeDriftState&) = default;
};

/// Allocates at construction only; one thread at a time.
class ModeDrift {
 public:
  ModeDrift(const ModeShape& shape, const ModeDriftSettings& settings = {});
  static Outcome<ModeDrift> restore(const ModeDriftState& state, const ModeShape& shape);
  ModeDriftState state() const;  ///< allocates

  /// Takes the block that the polish has just completed. No throw, no allocation; P^2 / 2 additions, and once
  /// in settings.block_rows rows P^3 products.
  std::optional<DriftEvent> add(const ModePolish& polish) noexcept;

  /// Whether the last block judged lay beyond the limit.
  bool contradicts() const noexcept { return state_.deviations > state_.settings.limit; }

 private:
  struct Reading {
    double chi_square = 0.0;
    double dof = 0.0;
  };
  void open_block() noexcept;
  void fade(FadingScores& recent, double share) noexcept;
  Reading read_laws(const FadingScores& recent, const ModePolish& polish) noexcept;
  void weigh(const Reading& reading, double limit, double rows, DriftEvent& event) const noexcept;
  std::optional<DriftEvent> judge(const ModePolish& polish) noexcept;

  ModeShape shape_;
  ModeDriftState state_;
  TransitionWatch ways_;
  PivotedCholesky solver_;
  std::vector<double> score_;
  std::vector<double> information_;
};

}  // namespace mixstream
