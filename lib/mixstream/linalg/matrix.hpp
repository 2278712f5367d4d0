// The one dense matrix of all solvers: plain storage, shared with the moments; here with what makes it.
#pragma once

#include <cstddef>
#include <vector>

#include "mixstream/core/dense.hpp"

namespace mixstream {

/// A matrix of zeros. Allocates.
inline DenseMatrix zero_matrix(std::size_t rows, std::size_t columns) {
  return {rows, columns, std::vector<double>(rows * columns)};
}

}  // namespace mixstream
