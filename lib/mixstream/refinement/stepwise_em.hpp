// Stepwise (online) EM of Cappe and Moulines: one pass, one block of rows at a time, constant memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mixstream/mixture.hpp"
#include "mixstream/refinement/expectation.hpp"
#include "mixstream/refinement/maximisation.hpp"
#include "mixstream/rows/row.hpp"
#include "mixstream/settings.hpp"

namespace mixstream {

struct StepwiseEmSettings {
  NoiseModel noise = NoiseModel::shared;
  double step_exponent = 0.6;    ///< alpha in gamma = t^-alpha, in (0.5, 1]; t counts blocks of 64 rows
  double step_delay = 20.0;      ///< blocks, one or more, held against the start before the first step
  double variance_floor = 1e-4;  ///< noise variances stay above this share of the start's largest
};

/// The running mean of the expected sums s, moved by each block: s += gamma (s of the block - s), and the
/// mixture that maximises it; beside it the average of the mixtures along the way, which is the better
/// estimate. It follows one optimum: a start near the wrong one stays there. Two of them do NOT merge: each
/// one's sums were taken along its own path of mixtures. The anchored polish merges.
class StepwiseEm {
 public:
  /// Throws std::invalid_argument for a start that is not finite or settings out of range.
  explicit StepwiseEm(const Mixture& start, const StepwiseEmSettings& settings = {});

  /// Adds one row; rows that are not finite or have no positive weight are left out. Every 64th row works off
  /// a block. No throw, no allocation.
  void add(const Row& row) noexcept;

  /// The estimate: the average over the path, later mixtures counting more. Up to 63 rows wait for their
  /// block.
  const Mixture& mixture() const noexcept { return average_; }
  const Mixture& last_mixture() const noexcept { return mixture_; }  ///< the present end of the path
  std::uint64_t row_count() const noexcept { return row_count_; }    ///< rows taken, waiting ones included

 private:
  void work_off_block() noexcept;
  void rebase(const Mixture& before) noexcept;
  void update_average() noexcept;

  StepwiseEmSettings settings_;
  Mixture mixture_;
  Mixture average_;
  Mixture next_;
  Expectation expectation_;
  Maximisation maximise_;
  std::vector<double> block_;
  std::vector<double> sums_;  // running mean per unit of weight, at the law of mixture_
  std::vector<double> move_;
  std::size_t waiting_ = 0;
  std::uint64_t row_count_ = 0;
  double time_ = 0.0;  // weight of all blocks so far, in blocks
};

}  // namespace mixstream
