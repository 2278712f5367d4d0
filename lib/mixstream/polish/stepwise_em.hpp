// Stepwise (online) EM of Cappe and Moulines: one pass, one block of rows at a time, constant memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/likelihood/expectation.hpp"
#include "mixstream/likelihood/maximisation.hpp"
#include "mixstream/rows/row.hpp"

namespace mixstream {

struct StepwiseEmSettings {
  NoiseModel noise = NoiseModel::shared;
  double step_exponent = 0.6;    ///< alpha in gamma = t^-alpha, in (0.5, 1]; t counts blocks of 64 rows
  double step_delay = 20.0;      ///< blocks, one or more, held against the start before the first step
  double variance_floor = 1e-4;  ///< noise variances stay above this share of the start's largest

  friend bool operator==(const StepwiseEmSettings&, const StepwiseEmSettings&) = default;
};

/// All that stepwise EM remembers, as plain numbers: restoring it continues bit for bit on the same
/// processor.
struct StepwiseEmState {
  StepwiseEmSettings settings;
  Mixture mixture;                 ///< the present end of the path
  Mixture average;                 ///< over the path
  std::vector<double> sums;        ///< running mean per unit of weight, at the law of `mixture`
  std::vector<double> block;       ///< rows that wait
  std::uint64_t waiting = 0;       ///< how many
  std::uint64_t row_count = 0;     ///< taken, waiting ones included
  double time = 0.0;               ///< weight of all blocks so far, in blocks
  double smallest_variance = 0.0;  ///< that a step may set

  friend bool operator==(const StepwiseEmState&, const StepwiseEmState&) = default;
};

/// The running mean of the expected sums s, moved by each block: s += gamma (s of the block - s), and the
/// mixture that maximises it; beside it the average of the mixtures along the way, which is the better
/// estimate. It follows one optimum: a start near the wrong one stays there. Two of them do NOT merge: each
/// one's sums were taken along its own path of mixtures. The anchored polish merges.
class StepwiseEm {
 public:
  /// Throws std::invalid_argument for a start that is not finite or settings out of range.
  explicit StepwiseEm(const Mixture& start, const StepwiseEmSettings& settings = {});

  /// Continues from a stored state; refuses one whose parts do not fit together or are not finite.
  static Outcome<StepwiseEm> restore(const StepwiseEmState& state);
  const StepwiseEmState& state() const noexcept { return state_; }

  /// Adds one row; rows that are not finite or have no positive weight are left out. Every 64th row works off
  /// a block. No throw, no allocation.
  void add(const Row& row) noexcept;

  /// The estimate: the average over the path, later mixtures counting more. Up to 63 rows wait for their
  /// block.
  const Mixture& mixture() const noexcept { return state_.average; }
  const Mixture& last_mixture() const noexcept { return state_.mixture; }  ///< the present end of the path
  std::uint64_t row_count() const noexcept {
    return state_.row_count;
  }  ///< rows taken, waiting ones included

 private:
  explicit StepwiseEm(StepwiseEmState state);
  void work_off_block() noexcept;
  void rebase(const Mixture& before) noexcept;
  void update_average() noexcept;

  StepwiseEmState state_;
  Mixture next_;
  Expectation expectation_;
  Maximisation maximise_;
  std::vector<double> move_;
};

}  // namespace mixstream
