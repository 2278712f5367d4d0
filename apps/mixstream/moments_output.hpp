// The moments of a saved state as JSON or CSV: what `inspect --moments` prints.
#pragma once

#include <string>

#include "mixstream/estimator.hpp"

namespace mixstream {

/// One JSON object on a line: Sigma_1 to Sigma_3, cross moments and means, in raw coordinates.
std::string moments_json(const Estimator& estimator);

/// The same, one number a line: moment,degree,left,right,value. `left` and `right` name products of features;
/// the square roots of multiplicities are in the values.
std::string moments_csv(const Estimator& estimator);

}  // namespace mixstream
