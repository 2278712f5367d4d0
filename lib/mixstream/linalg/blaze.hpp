// Blaze's matrices, and how the plain one is seen by them. Includes Blaze: for .cpp files only.
#pragma once

#include <blaze/Math.h>

#include <cstddef>
#include <span>

#include "mixstream/linalg/matrix.hpp"

namespace mixstream::linalg {

using Matrix = blaze::DynamicMatrix<double, blaze::rowMajor>;
using Vector = blaze::DynamicVector<double, blaze::columnVector>;
using MatrixView = blaze::CustomMatrix<double, blaze::unaligned, blaze::unpadded, blaze::rowMajor>;
using VectorView = blaze::CustomVector<double, blaze::unaligned, blaze::unpadded, blaze::columnVector>;

/// Keeps the BLAS to the calling thread: results must not depend on the machine, and its threads would wait
/// for each other on a busy one far longer than they work.
inline void use_one_thread() noexcept {
  static const bool done = (openblas_set_num_threads(1), true);
  static_cast<void>(done);
}

// Views are of non-const double on purpose: Blaze drops SIMD on CustomMatrix<const double>.
inline MatrixView view_of(const DenseMatrix& matrix) {
  return {const_cast<double*>(matrix.values.data()), matrix.rows, matrix.columns};
}
inline VectorView view_of(std::span<const double> vector) {
  return {const_cast<double*>(vector.data()), vector.size()};
}

inline Matrix to_blaze(const DenseMatrix& matrix) {
  return Matrix(matrix.rows, matrix.columns, matrix.values.data());
}
inline DenseMatrix to_dense(const Matrix& matrix) {
  DenseMatrix result = zero_matrix(matrix.rows(), matrix.columns());
  view_of(result) = matrix;
  return result;
}

}  // namespace mixstream::linalg
