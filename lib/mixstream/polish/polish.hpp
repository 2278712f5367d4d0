// The polish: maximum-likelihood accuracy from one pass, by scores and information at anchors.
//
// Each row adds its likelihood score s, taken at the current anchor theta_a, and the information s s'. After
// every move_every rows the anchor moves to H^-1 g, with H = sum I_a and g = sum (I_a theta_a + s_a). What is
// kept is H and the gradient left at the anchor, g - H theta_a: the same sums without the cancellation. They
// begin with a refined fit's own information, so that the rows before it count too. Sums of other anchors and
// other machines add once they are carried to one anchor and one labelling.
//
// Scores of anchors far from the answer are not what the linear step takes them for, and would hold the
// estimate for ever. So the first rows are held against those that follow, and where these contradict them
// they count for less, and those that follow are tried in turn.
//
// Everything here is in pilot coordinates, where parameters are near one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mixstream/core/dense.hpp"
#include "mixstream/core/mixture.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/likelihood/score_kernel.hpp"
#include "mixstream/linalg/pivoted_cholesky.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

struct PolishSettings {
  std::uint64_t move_every = 12500;  ///< rows; the anchor moves at the end of the block of 64 that reaches it
  std::size_t pane_count = 1;        ///< of a sliding window; 1: everything is remembered
  int warm_steps = 3;                ///< scoring steps on the sample when a polish begins

  friend bool operator==(const PolishSettings&, const PolishSettings&) = default;
};

/// All that a polish remembers, as plain numbers: restoring it continues bit for bit on the same processor.
/// Sums stand in slots: slot 0 is what it began with and, without a window, the rows on trial; then one slot
/// for each pane.
struct PolishState {
  PolishSettings settings;
  NoiseModel noise = NoiseModel::shared;
  bool is_branch = false;  ///< its rows stay apart from slot 0, which the trunk knows
  Mixture anchor;
  std::vector<double> parameters;    ///< theta of the anchor
  std::vector<double> information;   ///< H of every slot, lower triangles packed row by row
  std::vector<double> gradient;      ///< g - H theta of every slot
  std::vector<double> slot_weights;  ///< rows behind every slot, by weight
  std::vector<double> sums;          ///< at the current anchor (ScoreShape), not yet in a slot
  std::vector<double> buffer;        ///< rows not yet in `sums`: x, y, w one after the other
  double growth = 1.0;               ///< sums and buffered weights are this many times too large: see forget
  std::uint64_t rows = 0;            ///< absorbed
  std::uint64_t rows_since_move = 0;
  std::uint64_t moves = 0;
  std::uint64_t refused_moves = 0;  ///< whose step was not finite; the anchor stayed
  std::uint64_t pane_turns = 0;

  friend bool operator==(const PolishState&, const PolishState&) = default;
};

/// What a full block of rows says at the anchor it was taken at: for drift detection.
struct BlockScores {
  double weight = 0.0;               ///< sum w
  double log_density = 0.0;          ///< sum w log p(y | x)
  double log_density_squares = 0.0;  ///< sum w (log p(y | x))^2
  std::span<const double> score;     ///< sum w s
};

/// A polished mixture and the inverse covariance of its theta.
struct PolishedFit {
  Mixture mixture;
  std::vector<double> parameters;
  DenseMatrix information;              ///< H
  std::vector<double> standard_errors;  ///< of theta: roots of the diagonal of H^-1
};

/// Allocates at construction; absorb, forget, turn_pane and move_anchor never do. One thread at a time.
class AnchoredPolish {
 public:
  /// Begins at a refined fit with its information (P x P, of rows that will not be absorbed again). Throws
  /// std::invalid_argument when shapes disagree or settings are zero.
  AnchoredPolish(const Mixture& start, const DenseMatrix& information, NoiseModel noise,
                 const PolishSettings& settings = {});

  /// Continues from a stored state; refuses one whose parts do not fit together or are not finite.
  static Outcome<AnchoredPolish> restore(const PolishState& state);
  PolishState state() const;

  /// Adds a row of d finite numbers. True when it completed a block of 64 (then last_block() is new). No
  /// throw, no allocation; d stores, and once in 64 rows the work of ScoreKernel::flush, once in move_every
  /// rows that of move_anchor.
  bool absorb(const Row& row) noexcept {
    kernel_.append(row.features, row.response, row.weight * state_.growth);
    ++state_.rows;
    ++state_.rows_since_move;
    if (!kernel_.full()) return false;
    flush();
    if (state_.rows_since_move >= state_.settings.move_every) move_anchor();
    return true;
  }
  BlockScores last_block() const noexcept;  ///< its score lives until the next block

  /// Multiplies everything absorbed so far by keep, 0 < keep <= 1. Called before each row with 2^(-1 /
  /// half-life) it forgets row by row. No throw, no allocation; one division.
  void forget(double keep) noexcept;

  /// Begins the next pane of the window and drops the oldest; what the polish began with fades out evenly
  /// over the first pane_count turns. No throw, no allocation; P^2 products.
  void turn_pane() noexcept;

  /// Moves the anchor to the current estimate. Called by absorb. No throw, no allocation; P^3 / 3 products.
  void move_anchor() noexcept;

  /// Moves the anchor, but not the sums, by scoring steps that include the sample: a better point to
  /// linearise at.
  void warm_anchor(const RowTable& sample) noexcept;

  /// Adds another polish after giving its components these labels. Refuses other shapes and windows.
  Done merge(const AnchoredPolish& other);

  /// A polish at the same anchor for rows that another thread reads: it knows what this one knows, and
  /// merge_branch adds only what it has learnt since. Allocates.
  AnchoredPolish branch() const;
  Done merge_branch(const AnchoredPolish& branch);

  const Mixture& anchor() const noexcept { return state_.anchor; }
  const ScoreShape& shape() const noexcept { return kernel_.shape(); }
  std::uint64_t rows() const noexcept { return state_.rows; }
  std::uint64_t moves() const noexcept { return state_.moves; }

  /// H^-1 g over all rows so far, the unfinished block included. Allocates.
  PolishedFit fit() const;

  /// Information of the absorbed rows alone (packed, without the refined fit's) and their weight, as of the
  /// last settled block; that of older rows by the newer ones' mean. No throw, no allocation; P^2 products.
  double row_information(std::span<double> packed) const noexcept;

 private:
  explicit AnchoredPolish(PolishState state);

  std::size_t slots() const noexcept { return state_.slot_weights.size(); }
  std::size_t current_slot() const noexcept;
  std::span<double> information_of(std::size_t slot) noexcept;
  std::span<double> gradient_of(std::size_t slot) noexcept;
  void scale_slot(std::size_t slot, double factor) noexcept;
  void flush() noexcept;
  void settle() noexcept;
  void gather(std::span<double> information, std::span<double> gradient) const noexcept;
  void step_to(std::span<double> step) noexcept;
  void join_beginning() noexcept;
  void doubt_start() noexcept;
  void doubt_older_rows() noexcept;
  Done merge_slots(const AnchoredPolish& other, std::size_t first_slot);

  PolishState state_;
  ScoreKernel kernel_;
  PivotedCholesky solver_;
  BlockScores block_;
  std::vector<double> block_sums_;
  std::vector<double> block_score_;
  std::vector<double> total_information_;
  std::vector<double> step_;
  std::vector<double> product_;
};

}  // namespace mixstream
