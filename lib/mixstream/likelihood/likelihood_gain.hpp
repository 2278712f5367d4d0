// Which of two mixtures explains rows better, and whether that is more than chance (Vuong's test).
#pragma once

#include "mixstream/core/mixture.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

/// How much better one mixture explains the rows of a sample than another: the mean difference of log p(y |
/// x) and its standard error over rows. Allocates.
struct LikelihoodGain {
  double mean = 0.0;
  double standard_error = 0.0;

  double deviations() const noexcept;  ///< mean / standard_error; infinite for a sure difference
};
LikelihoodGain likelihood_gain(const Mixture& mixture, const Mixture& rival, const RowTable& sample);

}  // namespace mixstream
