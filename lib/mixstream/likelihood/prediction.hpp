// What a fit says about y where only x is known. likelihood.hpp has what it says about a whole row.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "mixstream/core/mixture.hpp"

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

/// All that a fit says of a row.
struct RowPrediction {
  std::size_t component = 0;  ///< the likeliest, from 0
  double expected = 0.0;      ///< y without its noise: E[y | x], or given the likely laws where y is known
  Interval interval{};        ///< of y given x alone
};

/// `probabilities` (k of them) become those of the laws: P(h | x, y), or pi_h where y is not known.
/// No throw, no allocation; as much as predictive_interval.
RowPrediction predict_row(const Mixture& mixture, std::span<const double> features,
                          std::optional<double> response, double level,
                          std::span<double> probabilities) noexcept;

}  // namespace mixstream
