// A plain dense matrix at the border between moments (no linear algebra library) and solvers (Blaze).
#pragma once

#include <cstddef>
#include <vector>

namespace mixstream {

struct DenseMatrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values;  ///< row-major

  double& operator()(std::size_t i, std::size_t j) noexcept { return values[i * columns + j]; }
  double operator()(std::size_t i, std::size_t j) const noexcept { return values[i * columns + j]; }
};

}  // namespace mixstream
