// Small dense systems for the yardstick, by Gauss: it shares no code with the library.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace yardstick {

/// Solves matrix x = right, by elimination with row pivots. NaN where the matrix is singular.
inline std::vector<double> solved_by_elimination(std::vector<double> matrix, std::vector<double> right) {
  const std::size_t n = right.size();
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < n; ++r)
      if (std::abs(matrix[r * n + c]) > std::abs(matrix[pivot * n + c])) pivot = r;
    for (std::size_t j = 0; j < n; ++j) std::swap(matrix[c * n + j], matrix[pivot * n + j]);
    std::swap(right[c], right[pivot]);
    for (std::size_t r = c + 1; r < n; ++r) {
      const double factor = matrix[r * n + c] / matrix[c * n + c];
      for (std::size_t j = c; j < n; ++j) matrix[r * n + j] -= factor * matrix[c * n + j];
      right[r] -= factor * right[c];
    }
  }
  for (std::size_t c = n; c-- > 0;) {
    for (std::size_t j = c + 1; j < n; ++j) right[c] -= matrix[c * n + j] * right[j];
    right[c] /= matrix[c * n + c];
  }
  return right;
}

/// Solves a positive definite system whose rows differ in scale: the diagonal is brought to one first.
inline std::vector<double> solved(const std::vector<double>& matrix, const std::vector<double>& right) {
  const std::size_t n = right.size();
  std::vector<double> scaled(n * n);
  std::vector<double> scaled_right(n);
  std::vector<double> root(n);
  for (std::size_t i = 0; i < n; ++i) root[i] = std::sqrt(matrix[i * n + i]);
  for (std::size_t i = 0; i < n; ++i) {
    scaled_right[i] = right[i] / root[i];
    for (std::size_t j = 0; j < n; ++j) scaled[i * n + j] = matrix[i * n + j] / (root[i] * root[j]);
  }
  std::vector<double> answer = solved_by_elimination(std::move(scaled), std::move(scaled_right));
  for (std::size_t i = 0; i < n; ++i) answer[i] /= root[i];
  return answer;
}

inline std::vector<double> inverse(const std::vector<double>& matrix) {
  auto n = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(matrix.size()))));
  std::vector<double> all(n * n);
  for (std::size_t c = 0; c < n; ++c) {
    std::vector<double> unit(n);
    unit[c] = 1.0;
    const std::vector<double> column = solved(matrix, unit);
    for (std::size_t r = 0; r < n; ++r) all[r * n + c] = column[r];
  }
  return all;
}

}  // namespace yardstick
