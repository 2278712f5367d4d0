// A mixture whose noise follows a column, log s_h(x)^2 = a_h + c v(x). By EM on held rows.
#pragma once

#include <span>
#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/doubts/held.hpp"

namespace mixstream {

struct SpreadFit {
  Mixture mixture;     ///< noise variances are those at v = 0
  double slope = 0.0;  ///< c
  double log_likelihood = 0.0;
};

/// From a mixture; `follows`: whether c is fitted, else it stays zero. Allocates; n k d^2 products a round.
SpreadFit fit_spread(const std::vector<PlacedRow>& rows, std::span<const double> v, const Mixture& start,
                     NoiseModel noise, bool follows);

}  // namespace mixstream
