// A fitted model followed along rows: which mode holds now, how long it will, what comes next.
//
//   ModeTracker tracker(shape, model);
//   tracker.follow(row);                        // probabilities of the modes, given the rows so far
//   tracker.likeliest();  tracker.rows_left();  tracker.ahead(10, probabilities);
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mixstream/modes/filter.hpp"
#include "mixstream/modes/model.hpp"

namespace mixstream {

/// One chain. Allocates at construction only; one thread at a time.
class ModeTracker {
 public:
  /// Model and rows in the same coordinates. Throws std::invalid_argument when shapes disagree.
  ModeTracker(const ModeShape& shape, const ModeModel& model);

  /// Takes a row that comes `steps` steps after the last one; 0, or more than ModeFilter::longest_gap: the
  /// chain begins. Returns P(h | rows so far), until the next call. No throw, no allocation; the cost of
  /// ModeFilter::advance.
  std::span<const double> follow(const Row& row, unsigned steps = 1) noexcept;
  /// P(h_{t-1} = i, h_t = j | rows so far) of the last row, k x k; where the chain began all in row 0.
  std::span<const double> pairs() const noexcept { return filter_.pairs(); }
  bool begun_here() const noexcept { return begun_here_; }  ///< whether the chain began with the last row

  std::span<const double> probabilities() const noexcept { return filter_.filtered(chain_); }
  std::size_t likeliest() const noexcept;  ///< mode now
  /// Rows that the likeliest mode is expected to last from now on: its dwell. Without persistent modes 1.
  double rows_left() const noexcept;
  /// P(h) so many rows ahead: f A^steps; with a gate, that of the last row stays. No throw, no allocation.
  void ahead(unsigned steps, std::span<double> probabilities) const noexcept;
  /// What holds of a row, `probabilities`, becomes what holds of the one after it, whose features are known
  /// and whose y is not. No throw, no allocation.
  void pass_on(std::span<const double> features, std::span<double> probabilities) const noexcept;
  double log_density() const noexcept { return log_density_; }  ///< of the last row given those before

 private:
  ModeFilter filter_;
  std::vector<double> chain_;
  std::vector<double> score_;
  std::vector<double> used_;
  mutable std::vector<double> next_;
  bool begun_ = false;
  bool begun_here_ = false;
  double log_density_ = 0.0;
};

/// p A^steps, in place; `spare`: k numbers. Ends early where nothing changes any more. No throw, no
/// allocation; k^2 products a step.
void step_ahead(const DenseMatrix& transitions, unsigned steps, std::span<double> probabilities,
                std::span<double> spare) noexcept;

/// P(h_t | all rows) from what a tracker said row by row: `filtered` n x k, `pairs` n x k x k. Backwards,
/// P(h_{t-1} = i | all) = sum_j P(h_t = j | all) q_ij / f_j. A row whose chain began cuts. Allocates n x k.
std::vector<double> smoothed(std::size_t component_count, std::span<const double> filtered,
                             std::span<const double> pairs, std::span<const unsigned char> begins);

}  // namespace mixstream
