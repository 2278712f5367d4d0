// Expectation-maximisation over stored rows: the paper's rival, the yardstick, the warm start on reservoir
// rows, and a method of its own.
#pragma once

#include <cstdint>

#include "mixstream/core/mixture.hpp"
#include "mixstream/core/random.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/likelihood/row_blocks.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

struct EmSettings {
  NoiseModel noise = NoiseModel::shared;
  int max_iterations = 1000;
  double stop_below_gain = 1e-9;  ///< in mean log-likelihood per row and iteration
  double variance_floor = 1e-4;   ///< noise variances stay above this share of Var(y)
  bool extrapolated = false;      ///< where two iterations go on slowly, takes many in one step
};

struct EmFit {
  Mixture mixture;
  double mean_log_likelihood = 0.0;  ///< per unit of row weight, of the returned mixture
  int iterations = 0;
  bool converged = false;
};

/// EM from the given start. Extrapolated it needs fewer iterations where it is slow, never goes down, and may
/// end in another optimum than plain EM does. Allocates its workspace once; cost n k d^2 an iteration.
/// Never returns NaN; a start that is not finite, or does not have the rows' d, throws std::invalid_argument.
/// Without rows the start returns.
EmFit fit_em(const RowTable& rows, const Mixture& start, const EmSettings& settings = {});

/// The same on rows that are already in blocks: for many starts on the same rows.
EmFit fit_em(const RowBlocks& rows, const Mixture& start, const EmSettings& settings = {});

/// The paper's random start: beta standard normal, pi uniform plus a small perturbation, unit noise variance.
Mixture random_em_start(std::size_t component_count, std::size_t feature_count, Random& random);

}  // namespace mixstream
