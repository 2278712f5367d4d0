// Drift: recent rows against what the polish expects of them, judged block by block.
//
// Two signs. The likelihood: the mean of log p(y | x) over recent rows below that of older ones, which sees
// noise that grows and laws that leave. (A gain is no sign: it is how a fit looks that learns.) The scores:
// at a right anchor they sum to zero within N(0, W I_1), and what they sum to instead says that the laws
// moved even where the likelihood hardly changed. The anchor is itself estimated, from rows of weight N: a
// block of weight w sees its error, which adds w^2 / N to the variance.
//
// Each sign is read over the last block and over an average that fades, in standard deviations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mixstream/core/events.hpp"
#include "mixstream/linalg/pivoted_cholesky.hpp"
#include "mixstream/polish/polish.hpp"

namespace mixstream {

struct DriftSettings {
  std::uint64_t block_rows = 1024;    ///< judged together; a multiple of 64
  double fading = 0.1;                ///< weight of the newest block in the fading average
  std::uint64_t settle_rows = 25000;  ///< of a polish, before it is judged: its first anchors are rough
  std::size_t lag_blocks = 20;        ///< recent blocks that are not yet part of the past
  std::size_t past_blocks = 20;       ///< needed before recent likelihoods are compared with the past
  double past_fading = 0.005;         ///< of the past, a block: what was usual long ago counts little
  double limit = 6.0;                 ///< standard deviations that make an event

  friend bool operator==(const DriftSettings&, const DriftSettings&) = default;
};

/// A fading sum of blocks: of scores and log densities with what their variances need.
struct FadingBlocks {
  std::vector<double> score;
  double score_variance = 0.0;  ///< in units of I_1
  double log_density = 0.0;
  double weight = 0.0;          ///< sum w f
  double weight_squares = 0.0;  ///< sum w f^2, f by which a block fades: a weight of 2 is two rows

  friend bool operator==(const FadingBlocks&, const FadingBlocks&) = default;
};

/// Sums over whole blocks.
struct DensitySums {
  double weight = 0.0;          ///< sum w f
  double weight_squares = 0.0;  ///< sum w f^2, f by which a block fades: a weight of 2 is two rows
  double log_density = 0.0;
  double log_density_squares = 0.0;

  friend bool operator==(const DensitySums&, const DensitySums&) = default;
};

/// All that a detector remembers, as plain numbers.
struct DriftState {
  DriftSettings settings;
  std::uint64_t rows = 0;
  std::uint64_t block_rows = 0;        ///< rows in the open block
  DensitySums block;                   ///< the open block
  std::vector<double> block_score;     ///< and its score
  std::array<FadingBlocks, 2> recent;  ///< the last block, and the fading average
  std::vector<DensitySums> lag;        ///< ring of recent blocks
  std::uint64_t blocks = 0;            ///< closed since the last restart
  DensitySums past;                    ///< blocks older than those
  std::uint64_t past_count = 0;
  bool scores_out = false;             ///< an event was raised and the scores have not come back since
  double likelihood_deviations = 0.0;  ///< last readings, for telemetry
  double score_deviations = 0.0;

  friend bool operator==(const DriftState&, const DriftState&) = default;
};

/// Allocates at construction only; one thread at a time.
class DriftDetector {
 public:
  /// Throws std::invalid_argument for settings without meaning.
  explicit DriftDetector(std::size_t parameter_count, const DriftSettings& settings = {});

  static Outcome<DriftDetector> restore(const DriftState& state, std::size_t parameter_count);
  const DriftState& state() const noexcept { return state_; }

  /// Takes the block that the polish has just completed. No throw, no allocation; P additions, and once in
  /// settings.block_rows rows P^3 / 3 products.
  std::optional<DriftEvent> add(const AnchoredPolish& polish) noexcept;

  /// Forgets the past and the recent blocks: for a new polish. No throw, no allocation.
  void restart() noexcept;

 private:
  explicit DriftDetector(DriftState state);

  std::optional<DriftEvent> close_block(const AnchoredPolish& polish) noexcept;
  void fade(FadingBlocks& recent, double share, double anchor_weight) noexcept;
  void age_blocks() noexcept;
  std::optional<DriftEvent> judge_likelihood() noexcept;
  std::optional<DriftEvent> judge_scores(double anchor_weight) noexcept;

  DriftState state_;
  PivotedCholesky solver_;
  std::vector<double> information_;
};

}  // namespace mixstream
