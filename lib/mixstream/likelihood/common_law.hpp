// The one law of all rows: from where random laws are drawn.
#pragma once

#include <span>
#include <vector>

#include "mixstream/likelihood/row_blocks.hpp"
#include "mixstream/linalg/pivoted_cholesky.hpp"

namespace mixstream {

struct CommonLaw {
  std::vector<double> law;
  double noise_variance = 0.0;  ///< mean squared residual
  std::vector<double> second;   ///< mean of x x', packed
  PivotedCholesky factor;       ///< of it

  /// Root of the mean of (direction . x)^2 over the rows. Allocates.
  double length(std::span<const double> direction) const;
};

/// Weighted least squares over all rows. Allocates; cost n d^2. Without rows: zeros.
CommonLaw common_law(const RowBlocks& rows);

}  // namespace mixstream
