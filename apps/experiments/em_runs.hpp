// EM as the paper runs it, from many starts on the same rows.
#pragma once

#include "experiments/streams.hpp"
#include "mixstream/likelihood/em.hpp"

namespace experiments {

/// EM with the paper's number of iterations. It begins on the first rows, where most iterations are spent,
/// and ends on all of them.
class EmRuns {
 public:
  /// Keeps a copy of the rows in blocks.
  EmRuns(const RowTable& rows, NoiseModel noise);

  EmFit from(const Mixture& start) const;

  /// EM on all rows from the truth: the yardstick.
  EmFit from_truth(const Mixture& truth) const;

 private:
  RowBlocks few_;
  RowBlocks all_;
  EmSettings settings_;
};

}  // namespace experiments
