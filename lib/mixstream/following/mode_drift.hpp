// Drift of rows in order: whether laws, noise, or the ways between modes have changed; not that a mode lasts.
//
// Scores given the past sum to zero within their own information whatever x and the modes do, so their sum S
// over recent blocks is held against V, the information of those very rows: S' V^-1 S is about chi-square. A
// block in one mode says nothing of the other laws, and V knows it. The anchor's own error adds its share.
//
// Changes of mode are counts: where few are expected their score is far from Gaussian, and V taken from the
// rows seen would be next to nothing where none was seen. So they are held against what the chain promises,
// A_ij n_i, and only over stretches that promise enough of them.
//
// Each is read over the last block, and over averages that fade within about ten blocks and a hundred.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mixstream/following/drift.hpp"
#include "mixstream/likelihood/symmetric_solver.hpp"
#include "mixstream/modes/mode_polish.hpp"

namespace mixstream {

struct ModeDriftSettings {
  std::uint64_t block_rows = 1024;    ///< judged together; a multiple of 64
  std::uint64_t settle_rows = 25000;  ///< of a polish, before it is judged
  double limit = 6.0;                 ///< standard deviations that make an event
  double enough_changes = 20.0;       ///< promised, before a cell of the chain is judged
  /// The same for changes of mode, of which few are seen: 200 streams of 100 blocks and three averages are
  /// 60,000 readings, of which 5.2 deviations let one in ten million pass.
  double change_limit = 5.2;

  friend bool operator==(const ModeDriftSettings&, const ModeDriftSettings&) = default;
};

/// A fading sum of blocks.
struct FadingScores {
  std::vector<double> score;        ///< S
  std::vector<double> information;  ///< V, packed; laws and noise only
  std::vector<double> promised;     ///< changes, k x k, fading like S
  std::vector<double> variance;     ///< of their counts, fading like V
  double weight = 0.0;
  double weight_squares = 0.0;

  friend bool operator==(const FadingScores&, const FadingScores&) = default;
};

struct ModeDriftState {
  static constexpr std::array<double, 3> fading = {1.0, 0.1, 0.01};  ///< share of the newest block
  ModeDriftSettings settings;
  std::array<FadingScores, fading.size()> recent;
  FadingScores block;  ///< the open block
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
  const ModeDriftState& state() const noexcept { return state_; }

  /// Takes the block that the polish has just completed. No throw, no allocation; P^2 / 2 additions, and once
  /// in settings.block_rows rows P^3 products.
  std::optional<DriftEvent> add(const ModePolish& polish) noexcept;

 private:
  void fade(FadingScores& recent, double share, double known) noexcept;
  struct Reading {
    double chi_square = 0.0;
    double dof = 0.0;
  };
  Reading read_laws(const FadingScores& recent) noexcept;
  Reading read_changes(const FadingScores& recent) const noexcept;
  void weigh(const Reading& reading, double limit, const FadingScores& recent,
             DriftEvent& event) const noexcept;
  std::optional<DriftEvent> judge(const ModePolish& polish) noexcept;

  ModeShape shape_;
  ModeDriftState state_;
  SymmetricSolver solver_;
  std::vector<double> score_;
  std::vector<double> information_;
};

}  // namespace mixstream
