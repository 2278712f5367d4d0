// Products of dense matrices and vectors on plain storage.
//
// Outputs are resized to fit; a buffer that already has the shape is reused without allocation. BLAS runs on
// one thread. Nothing here throws on numbers.
#pragma once

#include <span>
#include <vector>

#include "mixstream/linalg/matrix.hpp"

namespace mixstream {

/// A matrix of zeros, reusing the storage of `matrix` where it is large enough.
void reshape(DenseMatrix& matrix, std::size_t rows, std::size_t columns);

/// result = left * right.
void multiply(const DenseMatrix& left, const DenseMatrix& right, DenseMatrix& result);
/// result = left' * right.
void multiply_transposed(const DenseMatrix& left, const DenseMatrix& right, DenseMatrix& result);
/// result = matrix * vector; no allocation. result must not overlap vector.
void multiply(const DenseMatrix& matrix, std::span<const double> vector, std::span<double> result) noexcept;
/// result = matrix' * vector; no allocation. result must not overlap vector.
void multiply_transposed(const DenseMatrix& matrix, std::span<const double> vector,
                         std::span<double> result) noexcept;
/// matrix * vector, and matrix' * vector. Allocate the result.
std::vector<double> product(const DenseMatrix& matrix, std::span<const double> vector);
std::vector<double> transposed_product(const DenseMatrix& matrix, std::span<const double> vector);

double dot(std::span<const double> left, std::span<const double> right) noexcept;
/// The same several sums at a time: faster for thousands of numbers, and rounded otherwise.
double long_dot(std::span<const double> left, std::span<const double> right) noexcept;
double norm(std::span<const double> vector) noexcept;

/// vector' M vector. No throw, no allocation; n^2 products.
double quadratic_form(const DenseMatrix& matrix, std::span<const double> vector) noexcept;

}  // namespace mixstream
