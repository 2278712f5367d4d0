// What the sample of rows says of theta, for directions in which the moments say little.
//
// With many features only few conditions can be kept, and a noise variance may then run to zero at hardly any
// cost in J. The sample knows better: near an optimum of its likelihood, theta is about N(centre, I^-1).
#pragma once

#include <optional>
#include <vector>

#include "mixstream/core/dense.hpp"
#include "mixstream/core/mixture.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

struct SamplePrior {
  std::vector<double> centre;  ///< theta (parameters.hpp)
  DenseMatrix information;
};

/// One scoring step from `optimum`, an optimum of EM on the sample, and the information there. Where the
/// moments know little the sample counts in full, though its rows are in them too. Nothing when the step is
/// not finite. Allocates; a score for each row, and P^3 / 3 products.
std::optional<SamplePrior> sample_prior(const Mixture& optimum, const RowTable& sample, NoiseModel noise);

}  // namespace mixstream
