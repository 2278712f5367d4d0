// Whitening by M2 and back: W'M2 W = I on the k leading eigenvectors.
#pragma once

#include <vector>

#include "mixstream/core/dense.hpp"

namespace mixstream {

struct Whitening {
  DenseMatrix whiten;            ///< W, d x k
  DenseMatrix unwhiten;          ///< the pseudo-inverse of W', d x k
  std::vector<double> spectrum;  ///< all d eigenvalues of M2, descending
  int clamped = 0;               ///< leading eigenvalues that were not positive and were lifted
  bool sound = false;            ///< the decomposition succeeded and M2 has a positive eigenvalue
};

/// Whitens the k leading directions of a symmetric d x d matrix; eigenvalues below 1e-6 of the largest are
/// lifted to that. Needs k <= d.
Whitening whitening_of(const DenseMatrix& second, std::size_t components);

}  // namespace mixstream
