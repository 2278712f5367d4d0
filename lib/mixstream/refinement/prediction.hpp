// What a fit says about y where only x is known. likelihood.hpp has what it says about a whole row.
#pragma once

#include <span>

#include "mixstream/mixture.hpp"

namespace mixstream {

/// E[y | x] = sum_h pi_h beta_h . x. No throw, no allocation; k d products.
double expected_response(const Mixture& mixture, std::span<const double> features) noexcept;

struct Interval {
  double low;
  double high;
};

/// Where y falls with probability `level` given x, with equal tails outside: quantiles of the whole mixture.
/// The level is brought into [0, 1 - 1e-12]; at 0 both ends are the median. No throw, no allocation; at most
/// 200 times 2 k d products and k error functions, some 10 times in practice.
Interval predictive_interval(const Mixture& mixture, std::span<const double> features, double level) noexcept;

}  // namespace mixstream
