// Symmetric matrices kept as their lower triangle, row by row: what accumulates in the stream.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mixstream/linalg/matrix.hpp"

namespace mixstream {

/// Where entry (i, j), i >= j, stands.
constexpr std::size_t packed_index(std::size_t i, std::size_t j) noexcept {
  return i * (i + 1) / 2 + j;
}
constexpr std::size_t packed_size(std::size_t n) noexcept {
  return n * (n + 1) / 2;
}

/// The lower triangle of a square matrix. Allocates.
std::vector<double> packed_from(const DenseMatrix& matrix);

/// result = A vector for a packed symmetric A; they must not overlap. No throw, no allocation.
void multiply_packed(std::span<const double> packed, std::span<const double> vector,
                     std::span<double> result) noexcept;

/// M' A M, packed, for a square M of few entries: A under other labels or units. Allocates.
std::vector<double> congruent(std::span<const double> packed, const DenseMatrix& map);

}  // namespace mixstream
