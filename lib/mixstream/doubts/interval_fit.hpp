// A mixture of rounded responses: each stands for the interval of a step around it. By EM on held rows.
#pragma once

#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/doubts/held.hpp"

namespace mixstream {

/// The mixture of what was there before rounding. Allocates; n k d^2 products a round, at most 200 rounds.
Mixture fit_intervals(const std::vector<PlacedRow>& rows, double step, const Mixture& start,
                      NoiseModel noise);

/// A normal deviate known to lie in (low, high): the chance of that, its mean and mean square then. No throw.
struct Truncated {
  double chance = 0.0;
  double mean = 0.0;
  double square = 0.0;
};
Truncated truncated_normal(double low, double high) noexcept;

}  // namespace mixstream
