// Dense factorisations in pieces, with yield points between them: a time-sliced refit can stop inside.
//
// Matrices are row-major n x n; BLAS runs on one thread. Nothing here throws or allocates unless said. A
// piece takes some ten to some hundred microseconds for n up to about 1,000.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mixstream::linalg {

/// So many zeros. Allocates, and touches new memory piece by piece: its page faults cost more than the zeros.
std::vector<double> zeros(std::size_t count);

/// A = L L': L into the lower triangle, what stands above the diagonal is spoilt. False unless positive
/// definite. n^3 / 3 operations.
bool cholesky(std::span<double> matrix, std::size_t n);

/// vector becomes A^-1 vector, from the factor of A. n^2 products, in one piece.
void solve(std::span<const double> factor, std::size_t n, std::span<double> vector);

/// An estimate of 1 / (|A|_1 |A^-1|_1) from the factor and the norm of A: some solves of n^2 each. Allocates.
double reciprocal_condition(std::span<const double> factor, std::size_t n, double norm);

/// L^-1 B in place of B, n x columns.
void solve_lower(std::span<const double> factor, std::size_t n, std::span<double> values,
                 std::size_t columns);

/// target = left right, or left' right: rows x inner times inner x columns.
enum class Side { plain, transposed };
void multiply(Side side, std::span<const double> left, std::span<const double> right,
              std::span<double> target, std::size_t rows, std::size_t inner, std::size_t columns);

/// The eigenvalues of a symmetric matrix in ascending order; the matrix is spoilt. False when LAPACK gives
/// up. Allocates; 4/3 n^3 operations.
bool eigenvalues(std::span<double> matrix, std::size_t n, std::span<double> values);

}  // namespace mixstream::linalg
