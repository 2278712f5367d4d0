#include "mixstream/linalg/packed.hpp"

#include <algorithm>

namespace mixstream {

std::vector<double> packed_from(const DenseMatrix& matrix) {
  std::vector<double> packed;
  packed.reserve(packed_size(matrix.rows));
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    for (std::size_t j = 0; j <= i; ++j) packed.push_back(matrix(i, j));
  }
  return packed;
}

void multiply_packed(std::span<const double> packed, std::span<const double> vector,
                     std::span<double> result) noexcept {
  std::ranges::fill(result, 0.0);
  for (std::size_t i = 0; i < vector.size(); ++i) {
    const double* row = packed.data() + packed_index(i, 0);
    for (std::size_t j = 0; j < i; ++j) {
      result[i] += row[j] * vector[j];
      result[j] += row[j] * vector[i];
    }
    result[i] += row[i] * vector[i];
  }
}

std::vector<double> congruent(std::span<const double> packed, const DenseMatrix& map) {
  const std::size_t size = map.rows;
  DenseMatrix half = zero_matrix(size, size);  // A M
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      const double entry = packed[i >= j ? packed_index(i, j) : packed_index(j, i)];
      if (entry == 0.0) continue;
      for (std::size_t c = 0; c < size; ++c) half(i, c) += entry * map(j, c);
    }
  }
  std::vector<double> result(packed.size());
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t r = 0; r < size; ++r) {
      if (map(i, r) == 0.0) continue;
      for (std::size_t c = 0; c <= r; ++c) result[packed_index(r, c)] += map(i, r) * half(i, c);
    }
  }
  return result;
}

}  // namespace mixstream
