// EM as the paper runs it, from many starts on the same rows.
#pragma once

#include <optional>
#include <vector>

#include "experiments/streams.hpp"
#include "mixstream/likelihood/em.hpp"

namespace experiments {

/// EM with the paper's number of iterations. It begins on the first 20,000 rows, where most iterations are
/// spent, goes on with the first 500,000 where there are more, and ends on all of them.
class EmRuns {
 public:
  /// Keeps a copy of the rows in blocks.
  EmRuns(const RowTable& rows, NoiseModel noise, bool extrapolated = false);

  EmFit from(const Mixture& start) const { return on_all(on_first(start)); }

  /// The two halves of `from`.
  EmFit on_first(const Mixture& start) const;
  EmFit on_all(const EmFit& settled) const;

  /// EM on all rows from the truth: the yardstick.
  EmFit from_truth(const Mixture& truth) const;

 private:
  EmFit gone_on(const RowBlocks& rows, const EmFit& settled) const;

  RowBlocks few_;
  std::optional<RowBlocks> more_;
  RowBlocks all_;
  EmSettings settings_;
};

/// The same, but starts that settle on the first rows in the same optimum (laws within 0.01 of each other)
/// share one run on all rows. For errors, not for times.
class SharedEmRuns {
 public:
  explicit SharedEmRuns(const EmRuns& runs) : runs_(runs) {}

  EmFit from(const Mixture& start);

 private:
  struct Settled {
    EmFit on_first;
    EmFit on_all;
  };

  const EmRuns& runs_;
  std::vector<Settled> settled_;
};

}  // namespace experiments
