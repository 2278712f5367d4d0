// One refinement: Levenberg-Marquardt on weighted moment conditions from one start, with J and the
// information matrix of the result.
#pragma once

#include <limits>

#include "mixstream/core/mixture.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/refinement/conditions.hpp"
#include "mixstream/refinement/refine.hpp"
#include "mixstream/refinement/sample_prior.hpp"

namespace mixstream {

struct ConditionFitSettings {
  NoiseModel noise = NoiseModel::shared;
  int highest_power = highest_response_power;  ///< conditions with larger powers of y are left out
  int rounds = 3;                              ///< at most; weights are recomputed before each
  int max_iterations = 60;                     ///< of Levenberg-Marquardt, in each round
  std::size_t early_rows = 600;  ///< rows behind the weights of the first round, or 3 per condition
  double early_gain = 1e-3;      ///< of J, below which the first round ends: rough weights deserve no more
  double settled_below = 1.0;    ///< a round that moves theta less, in standard errors, is the last
  double give_up_above = std::numeric_limits<double>::infinity();  ///< J after a round that ends the fit
  const SamplePrior* prior = nullptr;  ///< J + (theta - centre)' I (theta - centre) is minimised instead of J
};

/// Fits from the start. With a prior of information I, J's degrees of freedom are the conditions less
/// tr((I_J + I)^-1 I_J), the parameters that they and not the prior decide. Accepts nothing: complaints stay
/// empty until judged. Refuses when the weights cannot be computed there, or when it gave up. Allocates;
/// milliseconds at d = 4.
Outcome<RefinedFit> fit_conditions(const Conditions& conditions, const Mixture& start,
                                   const ConditionFitSettings& settings);

}  // namespace mixstream
