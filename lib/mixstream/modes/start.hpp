// Where a polish of rows in order begins: from laws alone to a model that the rows held agree with.
//
// Laws come from the moments and from EM on the sample, which are right under any stationary order. What they
// do not know is the order itself: how long modes last and what the noise remembers. That is tried on a grid,
// judged by the exact likelihood of the runs, and settled by scoring on runs and sample together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mixstream/modes/mode_polish.hpp"
#include "mixstream/modes/runs.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

/// The rows held, in pilot coordinates: runs of consecutive rows, and single rows of the whole stream.
struct HeldRows {
  const Runs* runs = nullptr;
  const RowTable* sample = nullptr;  ///< left out while the runs are the stream
  std::size_t slots = 1;             ///< chains among the runs
  double run_unit = 1.0;  ///< what a run's weights are multiplied by: as rows drawn from the stream, beside
                          ///< the sample, they count for what rows of equal weight would

  /// How many rows they are, a weight of 2 being two. No throw.
  double weight() const;
};

struct SettledModel {
  ModeModel model;
  double log_likelihood = 0.0;  ///< of the held rows by their weights: runs in order, sample row by row
};

/// The model that says what the mixture says, with the stay that makes the runs likeliest among dwells of 1,
/// 2, 4 .. 16,384 rows. Allocates; 15 k products a row.
ModeModel sticky_start(const Mixture& mixture, const ModeShape& shape, const HeldRows& held);

/// Log-likelihood of the held rows, as in SettledModel. Allocates; one pass.
double likelihood_of(const ModeModel& model, const ModeShape& shape, const HeldRows& held);

/// Scoring from the start, steps halved where the likelihood falls, until a whole one raises it by less than
/// 0.01. Allocates; at most so many passes over the held rows, with a gate six times as many.
SettledModel settle(const ModeModel& start, const ModeShape& shape, const HeldRows& held, int passes = 40);

/// The same from laws: sticky_start, and with memory from noise that forgets and noise that keeps 0.6; the
/// likelier.
SettledModel settle(const Mixture& laws, const ModeShape& shape, const HeldRows& held);

/// A polish at the model that knows the runs. Allocates.
ModePolish polish_of_runs(const ModeModel& model, const ModeShape& shape, const HeldRows& held,
                          const ModePolishSettings& settings);

}  // namespace mixstream
