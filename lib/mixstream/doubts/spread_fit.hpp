// A mixture whose noise follows a column, log s_h(x)^2 = a_h + c v(x), or leans to one side: a normal law on
// each side of its mode, log s_h^2 = a_h + c above and a_h - c below. By EM on held rows.
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

/// The same for noise that leans. Laws are those of the mode.
SpreadFit fit_skew(const std::vector<PlacedRow>& rows, const Mixture& start, NoiseModel noise, bool leans);

/// Mean and skewness of such noise at a_h = 0, its mode at 0. No throw.
struct TwoPiece {
  double mean = 0.0;
  double skewness = 0.0;
};
TwoPiece two_piece(double slope) noexcept;

}  // namespace mixstream
