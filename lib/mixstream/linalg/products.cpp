#include "mixstream/linalg/products.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/linalg/blaze.hpp"
#include "mixstream/linalg/blocked.hpp"

namespace mixstream {
namespace {

using linalg::view_of;

bool empty(const DenseMatrix& matrix) noexcept {
  return matrix.values.empty();
}

}  // namespace

void reshape(DenseMatrix& matrix, std::size_t rows, std::size_t columns) {
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.values.assign(rows * columns, 0.0);
}

void multiply(const DenseMatrix& left, const DenseMatrix& right, DenseMatrix& result) {
  linalg::use_one_thread();
  reshape(result, left.rows, right.columns);
  if (empty(left) || empty(right)) return;
  linalg::multiply(linalg::Side::plain, left.values, right.values, result.values, left.rows, left.columns,
                   right.columns);
}

void multiply_transposed(const DenseMatrix& left, const DenseMatrix& right, DenseMatrix& result) {
  linalg::use_one_thread();
  reshape(result, left.columns, right.columns);
  if (empty(left) || empty(right)) return;
  linalg::multiply(linalg::Side::transposed, left.values, right.values, result.values, left.columns,
                   left.rows, right.columns);
}

void multiply(const DenseMatrix& matrix, std::span<const double> vector, std::span<double> result) noexcept {
  std::ranges::fill(result, 0.0);
  if (empty(matrix) || vector.empty() || result.empty()) return;
  auto target = view_of(result);
  target = view_of(matrix) * view_of(vector);
}

void multiply_transposed(const DenseMatrix& matrix, std::span<const double> vector,
                         std::span<double> result) noexcept {
  std::ranges::fill(result, 0.0);
  if (empty(matrix) || vector.empty() || result.empty()) return;
  auto target = view_of(result);
  target = blaze::trans(view_of(matrix)) * view_of(vector);
}

std::vector<double> product(const DenseMatrix& matrix, std::span<const double> vector) {
  std::vector<double> result(matrix.rows);
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    for (std::size_t j = 0; j < matrix.columns; ++j) result[i] += matrix(i, j) * vector[j];
  }
  return result;
}

std::vector<double> transposed_product(const DenseMatrix& matrix, std::span<const double> vector) {
  std::vector<double> result(matrix.columns);
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    for (std::size_t j = 0; j < matrix.columns; ++j) result[j] += matrix(i, j) * vector[i];
  }
  return result;
}

double dot(std::span<const double> left, std::span<const double> right) noexcept {
  double sum = 0.0;
  for (std::size_t i = 0; i < left.size(); ++i) sum += left[i] * right[i];
  return sum;
}

double long_dot(std::span<const double> left, std::span<const double> right) noexcept {
  return blaze::dot(view_of(left), view_of(right));
}

double norm(std::span<const double> vector) noexcept {
  return std::sqrt(dot(vector, vector));
}

double quadratic_form(const DenseMatrix& matrix, std::span<const double> vector) noexcept {
  double form = 0.0;
  for (std::size_t i = 0; i < vector.size(); ++i) {
    for (std::size_t j = 0; j < vector.size(); ++j) form += vector[i] * matrix(i, j) * vector[j];
  }
  return form;
}

}  // namespace mixstream
