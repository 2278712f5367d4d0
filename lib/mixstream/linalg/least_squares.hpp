// The one least squares: normal equations, solved as far as the rows determine them.
#pragma once

#include <span>

#include "mixstream/linalg/matrix.hpp"
#include "mixstream/linalg/spectrum.hpp"

namespace mixstream {

/// law = S^+ c for S = sum of w x x' and c = sum of w x y; the shortest in units of each feature's own size.
/// False, and the law as it was, where S has no decomposition. Allocates; 10 d^3.
bool least_squares(const DenseMatrix& second, std::span<const double> cross, std::span<double> law,
                   double cutoff = rank_cutoff);

}  // namespace mixstream
