#include "mixstream/tensor/whitening.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/linalg/products.hpp"
#include "mixstream/linalg/spectrum.hpp"

namespace mixstream {

Whitening whitening_of(const DenseMatrix& second, std::size_t components) {
  Whitening result;
  SymmetricEigen eigen;
  if (!eigen.decompose(second)) return result;
  const std::size_t d = second.rows;
  result.spectrum.assign(eigen.values.rbegin(), eigen.values.rend());
  const double largest = result.spectrum.front();
  if (!(largest > 0.0)) return result;
  reshape(result.whiten, d, components);
  reshape(result.unwhiten, d, components);
  for (std::size_t h = 0; h < components; ++h) {
    const double value = result.spectrum[h];
    if (value < 1e-6 * largest) ++result.clamped;
    const double root = std::sqrt(std::max(value, 1e-6 * largest));
    for (std::size_t a = 0; a < d; ++a) {
      result.whiten(a, h) = eigen.vectors(d - 1 - h, a) / root;
      result.unwhiten(a, h) = eigen.vectors(d - 1 - h, a) * root;
    }
  }
  result.sound = true;
  return result;
}

}  // namespace mixstream
