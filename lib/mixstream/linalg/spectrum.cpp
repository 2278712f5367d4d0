#include "mixstream/linalg/spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "mixstream/linalg/blaze.hpp"
#include "mixstream/linalg/blocked.hpp"
#include "mixstream/linalg/products.hpp"

namespace mixstream {
namespace {

bool all_finite(std::span<const double> values) noexcept {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

}  // namespace

bool SymmetricEigen::begin(const DenseMatrix& symmetric) {
  linalg::use_one_thread();
  vectors = symmetric;
  values.assign(symmetric.rows, 0.0);
  return all_finite(symmetric.values);
}

bool SymmetricEigen::decompose(const DenseMatrix& symmetric) {
  const std::size_t n = symmetric.rows;
  if (!begin(symmetric)) return false;
  if (n == 0) return true;
  const std::size_t wanted = 1 + 6 * n + 2 * n * n;
  if (work_.size() < wanted) work_.resize(wanted);
  if (integer_work_.size() < 3 + 5 * n) integer_work_.resize(3 + 5 * n);
  int info = 0;
  const int order = static_cast<int>(n);
  // Row-major symmetric storage is column-major too; LAPACK's eigenvector columns are then our rows.
  blaze::syevd('V', 'U', order, vectors.values.data(), order, values.data(), work_.data(),
               static_cast<int>(work_.size()), integer_work_.data(), static_cast<int>(integer_work_.size()),
               &info);
  return info == 0 && all_finite(values);
}

bool SymmetricEigen::decompose_values(const DenseMatrix& symmetric) {
  return begin(symmetric) && linalg::eigenvalues(vectors.values, symmetric.rows, values) &&
         all_finite(values);
}

void ScaledEigen::scale_from(const DenseMatrix& matrix) {
  scaled_ = matrix;
  const std::size_t n = matrix.rows;
  scale.assign(n, 1.0);
  for (std::size_t i = 0; i < n; ++i) {
    if (matrix(i, i) > 0.0) scale[i] = std::sqrt(matrix(i, i));
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) scaled_(i, j) /= scale[i] * scale[j];
  }
}

void ScaledEigen::count_null(double cutoff) noexcept {
  const double least = size() == 0 ? 0.0 : cutoff * std::max(eigen.values.back(), 0.0);
  null_count = 0;
  while (null_count < size() && eigen.values[null_count] <= least) ++null_count;
}

bool ScaledEigen::decompose(const DenseMatrix& matrix, double cutoff) {
  scale_from(matrix);
  if (!eigen.decompose(scaled_)) return false;
  count_null(cutoff);
  return true;
}

std::size_t null_count_of(const DenseMatrix& matrix, double cutoff) {
  ScaledEigen scaled;
  scaled.scale_from(matrix);
  if (!scaled.eigen.decompose_values(scaled.scaled_)) return matrix.rows;
  scaled.count_null(cutoff);
  return scaled.null_count;
}

void ScaledEigen::solve(std::span<const double> target, std::span<double> solution,
                        std::vector<double>& scratch) const {
  const std::size_t n = size();
  scratch.assign(2 * n, 0.0);
  const std::span<double> scaled(scratch.data(), n);
  const std::span<double> rotated(scratch.data() + n, n);
  for (std::size_t i = 0; i < n; ++i) scaled[i] = target[i] / scale[i];
  multiply(eigen.vectors, scaled, rotated);
  for (std::size_t i = 0; i < n; ++i) rotated[i] = i < null_count ? 0.0 : rotated[i] / eigen.values[i];
  multiply_transposed(eigen.vectors, rotated, solution);
  for (std::size_t i = 0; i < n; ++i) solution[i] /= scale[i];
}

DenseMatrix inverse_root(const DenseMatrix& matrix, double cutoff) {
  ScaledEigen scaled;
  if (!scaled.decompose(matrix, cutoff)) throw std::runtime_error("no eigenvalues were found");
  const std::size_t size = scaled.size();
  const std::size_t first = std::min(scaled.null_count, size - 1);
  DenseMatrix root = zero_matrix(size - first, size);
  for (std::size_t i = first; i < size; ++i) {
    const double stretch = 1.0 / std::sqrt(scaled.eigen.values[i]);
    for (std::size_t j = 0; j < size; ++j)
      root(i - first, j) = scaled.eigen.vectors(i, j) * stretch / scaled.scale[j];
  }
  return root;
}

DenseMatrix pseudo_inverse(const DenseMatrix& matrix) {
  const linalg::Matrix root = linalg::to_blaze(inverse_root(matrix));
  return linalg::to_dense(blaze::trans(root) * root);
}

}  // namespace mixstream
