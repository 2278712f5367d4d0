// The exact filter of a model along the rows of a chain, with its tangent: probabilities of the mode now, and
// the score of each row given the past.
//
// Before row t a chain knows f_i = P(h = i | past) and df_i / d theta. With A_ij the way from i to j and N_ij
// the density of the row under j after i (the noise may remember the residual under i):
//
//   L = sum_ij f_i A_ij N_ij,   q_ij = f_i A_ij N_ij / L,   r_ij = N_ij / L,
//   T_j = sum_i (r_ij A_ij df_i + r_ij f_i dA_ij + q_ij dlog N_ij),
//   s = sum_j T_j,   f_j = sum_i q_ij,   df_j = T_j - f_j s.
//
// s is the gradient of log p(y_t | x_t, past). At the truth such scores are martingale differences whatever x
// does, so their sums and products mean for rows in order what they mean for independent ones.
//
// A chain that begins takes the stationary distribution, unless told otherwise. After g steps of which only
// the last was seen A^g takes the place of A, and the noise remembers rho^g.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mixstream/cpu/aligned.hpp"
#include "mixstream/cpu/instruction_set.hpp"
#include "mixstream/modes/model.hpp"
#include "mixstream/modes/variants/row_step.hpp"
#include "mixstream/rows/row.hpp"

namespace mixstream {

/// Allocates at construction only; one thread at a time.
class ModeFilter {
 public:
  /// Steps without a row after which a chain begins anew.
  static constexpr unsigned longest_gap = 16;

  /// Throws std::invalid_argument for a model without laws.
  explicit ModeFilter(const ModeShape& shape, InstructionSet set = best_instruction_set());

  const ModeShape& shape() const noexcept { return shape_; }
  const ModeModel& anchor() const noexcept { return anchor_; }
  const variants::RowStep& kernels() const noexcept { return kernels_; }
  std::size_t stride() const noexcept { return stride_; }  ///< from one row of tangents or scores to the next

  /// The model that scores are taken at. No throw, no allocation; k^5 products for a persistent chain.
  void set_anchor(const ModeModel& model) noexcept;

  /// From now on chains begin in these modes, k numbers, and what they begin in says nothing of the ways
  /// between modes: for runs cut out of one chain, whose beginnings depend on each other. None: the
  /// stationary distribution, as at first. No throw, no allocation.
  void begin_in(std::span<const double> modes) noexcept;

  /// Doubles that a chain carries: f, df, and the last row where the noise remembers it.
  std::size_t chain_size() const noexcept { return k_ + k_ * stride_ + d_ + 1; }
  std::span<const double> filtered(std::span<const double> chain) const noexcept { return chain.first(k_); }

  /// q_ij of the row taken last, k x k; where its chain began all stands in row 0.
  std::span<const double> pairs() const noexcept { return std::span(space_).subspan(plan_.shares, k_ * k_); }

  /// Takes the chain over a row that comes `steps` steps after its last one; 0, or more than longest_gap: the
  /// chain begins. Writes s (stride() numbers), adds to `used` `weight` times how often each mode was left or
  /// kept (k numbers), and returns log p(y | x, past). No throw, no allocation; about k^2 P products.
  double advance(std::span<double> chain, const Row& row, unsigned steps, std::span<double> score,
                 std::span<double> used, double weight = 1.0) noexcept;

 private:
  variants::StepRow step_row(const Row& row, std::span<const double> chain, unsigned steps) const noexcept;
  void set_ways() noexcept;
  void set_beginnings() noexcept;
  const double* ways(const Row& row, unsigned steps) noexcept;
  void raise_power(unsigned steps) noexcept;
  void add_who(const Row& row, unsigned steps) noexcept;
  void count_use(std::span<const double> chain, unsigned steps, std::span<double> used,
                 double weight) noexcept;

  ModeShape shape_;
  std::size_t k_;
  std::size_t d_;
  std::size_t stride_;
  variants::RowStep kernels_;
  variants::StepPlan plan_;
  AlignedDoubles space_;  // of the kernels: see StepPlan
  ModeModel anchor_;
  std::vector<double> start_tangent_;  // dpi / d who, persistent
  std::vector<double> beginnings_;     // begin_in
  bool stationary_ = true;             // chains begin at pi
  double freedom_slope_ = 0.0;         // of the density's constant by nu
  std::vector<double> power_;          // A^g, k x k
  std::vector<double> power_tangent_;  // its derivative, cell by cell: (cell, i, j)
  std::vector<double> spare_;
  unsigned power_steps_ = 0;
  AlignedDoubles ways_;     // A^g as the kernels read it
  AlignedDoubles chances_;  // pi or the gate's weights, k rows alike
};

}  // namespace mixstream
