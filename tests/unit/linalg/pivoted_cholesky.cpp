#include "mixstream/linalg/pivoted_cholesky.hpp"
#include "mixstream/linalg/packed.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "mixstream/core/random.hpp"
#include "mixstream/likelihood/score_kernel.hpp"

using namespace mixstream;

namespace {

/// Sum of v v' over `rank` random vectors, with very different scales of the coordinates.
std::vector<double> some_matrix(std::size_t size, std::size_t rank, Random& random) {
  std::vector<double> packed(packed_size(size));
  for (std::size_t r = 0; r < rank; ++r) {
    std::vector<double> v(size);
    for (std::size_t i = 0; i < size; ++i)
      v[i] = random.normal() * std::exp2(3.0 * static_cast<double>(i % 7));
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j <= i; ++j) packed[packed_index(i, j)] += v[i] * v[j];
    }
  }
  return packed;
}

std::vector<double> some_vector(std::size_t size, Random& random) {
  std::vector<double> vector(size);
  for (double& value : vector) value = random.normal();
  return vector;
}

}  // namespace

TEST_CASE("a regular matrix is solved, inverted and used as a form") {
  Random random(1);
  const std::vector<double> matrix = some_matrix(12, 30, random);
  PivotedCholesky solver(12);
  REQUIRE(solver.factor(matrix) == 12);
  const std::vector<double> wanted = some_vector(12, random);
  std::vector<double> right(12);
  multiply_packed(matrix, wanted, right);
  std::vector<double> found = right;
  solver.solve(found);
  double form = 0.0;
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(found[i] == doctest::Approx(wanted[i]).epsilon(1e-9));
    form += wanted[i] * right[i];
  }
  CHECK(solver.inverse_form(right) == doctest::Approx(form));
  std::vector<double> inverse(matrix.size());
  solver.inverse(inverse);
  multiply_packed(inverse, right, found);
  for (std::size_t i = 0; i < 12; ++i) CHECK(found[i] == doctest::Approx(wanted[i]).epsilon(1e-8));
}

TEST_CASE("a deficient matrix shows its rank, and a right side in its range is met") {
  Random random(2);
  const std::vector<double> matrix = some_matrix(10, 6, random);
  PivotedCholesky solver(10);
  CHECK(solver.factor(matrix) == 6);
  std::vector<double> right(10);
  multiply_packed(matrix, some_vector(10, random), right);
  std::vector<double> found = right;
  solver.solve(found);
  std::vector<double> met(10);
  multiply_packed(matrix, found, met);
  for (std::size_t i = 0; i < 10; ++i) CHECK(met[i] == doctest::Approx(right[i]).epsilon(1e-7));
}

TEST_CASE(
    "of two features that are equal each gets half: nothing goes along what the rows do not tell apart") {
  PivotedCholesky solver(3);
  const std::vector<double> matrix{4.0, 4.0, 4.0, 0.0, 0.0, 9.0};  // x, x, and another
  REQUIRE(solver.factor(matrix) == 2);
  std::vector<double> vector{8.0, 8.0, 18.0};
  solver.solve(vector);
  CHECK(vector[0] == doctest::Approx(1.0));
  CHECK(vector[1] == doctest::Approx(1.0));
  CHECK(vector[2] == doctest::Approx(2.0));
}

TEST_CASE("solutions of a deficient matrix are the shortest in its own scale") {
  Random random(5);
  const std::vector<double> matrix = some_matrix(9, 5, random);
  PivotedCholesky solver(9);
  REQUIRE(solver.factor(matrix) == 5);
  std::vector<double> right(9);
  multiply_packed(matrix, some_vector(9, random), right);
  std::vector<double> found = right;
  solver.solve(found);
  // Shortest: scaled, it lies in the range, so it is a combination of the columns; solving for them returns
  // it.
  std::vector<double> scaled(matrix.size()), unscaled = found;
  for (std::size_t i = 0; i < 9; ++i) {
    const double own = std::sqrt(matrix[packed_index(i, i)]);
    unscaled[i] *= own;
    for (std::size_t j = 0; j <= i; ++j)
      scaled[packed_index(i, j)] = matrix[packed_index(i, j)] / own / std::sqrt(matrix[packed_index(j, j)]);
  }
  PivotedCholesky of_scaled(9);
  REQUIRE(of_scaled.factor(scaled) == 5);
  std::vector<double> combination = unscaled;
  of_scaled.solve(combination);
  std::vector<double> back(9);
  multiply_packed(scaled, combination, back);
  for (std::size_t i = 0; i < 9; ++i) CHECK(back[i] == doctest::Approx(unscaled[i]).epsilon(1e-6));
}

TEST_CASE("zero and broken matrices give zero steps") {
  PivotedCholesky solver(3);
  std::vector<double> matrix(6);
  CHECK(solver.factor(matrix) == 0);
  matrix[2] = std::numeric_limits<double>::quiet_NaN();
  CHECK(solver.factor(matrix) == 0);
  std::vector<double> vector{1.0, 2.0, 3.0};
  solver.solve(vector);
  CHECK(vector == std::vector<double>{0.0, 0.0, 0.0});
}
