// Roots, pseudo-inverses and least squares of matrices whose null space is known.
#include "mixstream/linalg/spectrum.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "mixstream/core/random.hpp"
#include "mixstream/linalg/least_squares.hpp"
#include "mixstream/linalg/products.hpp"

using namespace mixstream;

namespace {

/// Mean of x x' over random x of very different scales, the last feature the sum of the first two.
DenseMatrix dependent_features(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  DenseMatrix second = zero_matrix(size, size);
  std::vector<double> x(size);
  for (std::size_t row = 0; row < 40; ++row) {
    for (std::size_t i = 0; i + 1 < size; ++i)
      x[i] = random.normal() * std::exp2(5.0 * static_cast<double>(i));
    x[size - 1] = x[0] + x[1];
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) second(i, j) += x[i] * x[j];
    }
  }
  return second;
}

}  // namespace

TEST_CASE("a dependent feature is one null eigenvalue, with vectors and without") {
  const DenseMatrix second = dependent_features(5, 1);
  ScaledEigen eigen;
  REQUIRE(eigen.decompose(second, rank_cutoff));
  CHECK(eigen.null_count == 1);
  CHECK(null_count_of(second, rank_cutoff) == 1);
}

TEST_CASE("a root whitens the numerical range, and a pseudo-inverse inverts there") {
  const DenseMatrix second = dependent_features(5, 2);
  const DenseMatrix root = inverse_root(second);
  REQUIRE(root.rows == 4);
  for (std::size_t a = 0; a < root.rows; ++a) {
    const std::span<const double> one(root.values.data() + a * 5, 5);
    for (std::size_t b = 0; b < root.rows; ++b) {
      const std::span<const double> other(root.values.data() + b * 5, 5);
      CHECK(dot(one, product(second, other)) == doctest::Approx(a == b ? 1.0 : 0.0));
    }
  }
  const DenseMatrix inverse = pseudo_inverse(second);
  const std::vector<double> x{0.3, -1.0, 0.02, 0.001, -0.7};
  const std::vector<double> image = product(second, x);
  const std::vector<double> again = product(second, product(inverse, image));
  for (std::size_t i = 0; i < 5; ++i) CHECK(again[i] == doctest::Approx(image[i]).epsilon(1e-8));
}

TEST_CASE("least squares meets every target in the range, dependent features or not") {
  const DenseMatrix second = dependent_features(4, 3);
  const std::vector<double> law{1.0, -2.0, 0.5, 0.0};
  const std::vector<double> cross = product(second, law);
  std::vector<double> found(4);
  REQUIRE(least_squares(second, cross, found));
  const std::vector<double> met = product(second, found);
  for (std::size_t i = 0; i < 4; ++i) CHECK(met[i] == doctest::Approx(cross[i]).epsilon(1e-8));
  CHECK(quadratic_form(second, found) == doctest::Approx(quadratic_form(second, law)));
}

TEST_CASE("numbers that are not finite have no decomposition") {
  DenseMatrix second = dependent_features(4, 4);
  second(2, 2) = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> law(4, 7.0);
  CHECK_FALSE(least_squares(second, std::vector<double>(4), law));
  CHECK(law == std::vector<double>(4, 7.0));
  CHECK_THROWS_AS(inverse_root(second), std::runtime_error);
}
