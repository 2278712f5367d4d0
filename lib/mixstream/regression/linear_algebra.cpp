#include "mixstream/regression/linear_algebra.hpp"

#include <blaze/math/CustomMatrix.h>
#include <blaze/math/CustomVector.h>
#include <blaze/math/lapack/clapack/potrf.h>
#include <blaze/math/lapack/clapack/potrs.h>
#include <blaze/math/lapack/clapack/syevd.h>

#include <algorithm>
#include <cmath>

#include "mixstream/regression/sliced.hpp"

namespace mixstream {
namespace {

// Views are of non-const double on purpose: Blaze drops SIMD on CustomMatrix<const double>.
using MatrixView = blaze::CustomMatrix<double, blaze::unaligned, blaze::unpadded, blaze::rowMajor>;
using VectorView = blaze::CustomVector<double, blaze::unaligned, blaze::unpadded, blaze::columnVector>;

MatrixView view(const DenseMatrix& matrix) {
  return {const_cast<double*>(matrix.values.data()), matrix.rows, matrix.columns};
}
VectorView view(std::span<const double> vector) {
  return {const_cast<double*>(vector.data()), vector.size()};
}

/// OpenBLAS would start threads of its own for large problems; results must not depend on the machine.
void use_one_thread() noexcept {
  static const bool done = (openblas_set_num_threads(1), true);
  static_cast<void>(done);
}

bool empty(const DenseMatrix& matrix) noexcept {
  return matrix.values.empty();
}

bool all_finite(std::span<const double> values) noexcept {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

}  // namespace

void reshape(DenseMatrix& matrix, std::size_t rows, std::size_t columns) {
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.values.assign(rows * columns, 0.0);
}

void multiply(const DenseMatrix& left, const DenseMatrix& right, DenseMatrix& result) {
  use_one_thread();
  reshape(result, left.rows, right.columns);
  if (empty(left) || empty(right)) return;
  sliced::multiply(sliced::Side::plain, left.values, right.values, result.values, left.rows, left.columns,
                   right.columns);
}

void multiply_transposed(const DenseMatrix& left, const DenseMatrix& right, DenseMatrix& result) {
  use_one_thread();
  reshape(result, left.columns, right.columns);
  if (empty(left) || empty(right)) return;
  sliced::multiply(sliced::Side::transposed, left.values, right.values, result.values, left.columns,
                   left.rows, right.columns);
}

void multiply(const DenseMatrix& matrix, std::span<const double> vector, std::span<double> result) noexcept {
  std::ranges::fill(result, 0.0);
  if (empty(matrix) || vector.empty() || result.empty()) return;
  VectorView target = view(result);
  target = view(matrix) * view(vector);
}

void multiply_transposed(const DenseMatrix& matrix, std::span<const double> vector,
                         std::span<double> result) noexcept {
  std::ranges::fill(result, 0.0);
  if (empty(matrix) || vector.empty() || result.empty()) return;
  VectorView target = view(result);
  target = blaze::trans(view(matrix)) * view(vector);
}

double dot(std::span<const double> left, std::span<const double> right) noexcept {
  double sum = 0.0;
  for (std::size_t i = 0; i < left.size(); ++i) sum += left[i] * right[i];
  return sum;
}

double norm(std::span<const double> vector) noexcept {
  return std::sqrt(dot(vector, vector));
}

bool SymmetricEigen::begin(const DenseMatrix& symmetric) {
  use_one_thread();
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
  blaze::syevd('V', 'L', order, vectors.values.data(), order, values.data(), work_.data(),
               static_cast<int>(work_.size()), integer_work_.data(), static_cast<int>(integer_work_.size()),
               &info);
  return info == 0 && all_finite(values);
}

bool SymmetricEigen::decompose_values(const DenseMatrix& symmetric) {
  return begin(symmetric) && sliced::eigenvalues(vectors.values, symmetric.rows, values) &&
         all_finite(values);
}

bool cholesky_solve(DenseMatrix& matrix, std::span<double> solution) noexcept {
  const int order = static_cast<int>(matrix.rows);
  if (order == 0) return true;
  int info = 0;
  blaze::potrf('L', order, matrix.values.data(), order, &info);
  if (info != 0) return false;
  blaze::potrs('L', order, 1, matrix.values.data(), order, solution.data(), order, &info);
  return info == 0 && all_finite(solution);
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

}  // namespace mixstream
