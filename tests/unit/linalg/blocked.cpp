// Factorisations in pieces against sums written out, and what must not depend on the pieces.
#include "mixstream/linalg/blocked.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "mixstream/core/random.hpp"
#include "mixstream/core/yield_point.hpp"

using namespace mixstream;

namespace {

std::vector<double> random_values(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> values(count);
  for (double& value : values) value = random.normal();
  return values;
}

/// G G' + diagonal.
std::vector<double> positive_matrix(std::size_t n, double diagonal, std::uint64_t seed) {
  const std::vector<double> g = random_values(n * n, seed);
  std::vector<double> a(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t l = 0; l < n; ++l) a[i * n + j] += g[i * n + l] * g[j * n + l];
    }
    a[i * n + i] += diagonal;
  }
  return a;
}

struct Counter final : Yielder {
  int passes = 0;
  void pass(YieldPlace) override { ++passes; }
};

/// Sizes on both sides of a block of 64, and beyond several.
constexpr std::size_t sizes[] = {1, 2, 63, 64, 65, 150, 200};

}  // namespace

TEST_CASE("the Cholesky factor multiplied out is the matrix") {
  for (const std::size_t n : sizes) {
    CAPTURE(n);
    const std::vector<double> a = positive_matrix(n, 1.0, n);
    std::vector<double> factor = a;
    REQUIRE(linalg::cholesky(factor, n));
    double largest = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = 0.0;
        for (std::size_t l = 0; l <= j; ++l) sum += factor[i * n + l] * factor[j * n + l];
        largest = std::max(largest, std::abs(sum - a[i * n + j]));
      }
    }
    CHECK(largest < 1e-11 * static_cast<double>(n));
  }
}

TEST_CASE("a matrix that is not positive definite has no Cholesky factor") {
  std::vector<double> a = positive_matrix(130, 1.0, 1);
  a[100 * 130 + 100] = -1.0;
  CHECK_FALSE(linalg::cholesky(a, 130));
}

TEST_CASE("solving with the factor undoes it, however many columns") {
  for (const std::size_t n : sizes) {
    for (const std::size_t columns : {std::size_t{1}, std::size_t{7}, std::size_t{300}}) {
      CAPTURE(n);
      CAPTURE(columns);
      std::vector<double> factor = positive_matrix(n, static_cast<double>(n), n);
      REQUIRE(linalg::cholesky(factor, n));
      const std::vector<double> wanted = random_values(n * columns, 5);
      std::vector<double> values(n * columns, 0.0);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t l = 0; l <= i; ++l) {
          for (std::size_t j = 0; j < columns; ++j)
            values[i * columns + j] += factor[i * n + l] * wanted[l * columns + j];
        }
      }
      linalg::solve_lower(factor, n, values, columns);
      double largest = 0.0;
      for (std::size_t i = 0; i < values.size(); ++i)
        largest = std::max(largest, std::abs(values[i] - wanted[i]));
      CHECK(largest < 1e-10);
    }
  }
}

TEST_CASE("the condition of a diagonal matrix is the ratio of its ends") {
  const std::size_t n = 90;
  std::vector<double> a(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) a[i * n + i] = i == 17 ? 1e-6 : 4.0;
  REQUIRE(linalg::cholesky(a, n));
  CHECK(1e6 * linalg::reciprocal_condition(a, n, 4.0) == doctest::Approx(0.25));
}

TEST_CASE("products in pieces are the sums") {
  const std::size_t rows = 70, inner = 310, columns = 290;
  const std::vector<double> right = random_values(inner * columns, 2);
  for (const linalg::Side side : {linalg::Side::plain, linalg::Side::transposed}) {
    const std::vector<double> left = random_values(rows * inner, 3);
    std::vector<double> target(rows * columns, 99.0);
    linalg::multiply(side, left, right, target, rows, inner, columns);
    double largest = 0.0;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        double sum = 0.0;
        for (std::size_t l = 0; l < inner; ++l)
          sum += left[side == linalg::Side::plain ? i * inner + l : l * rows + i] * right[l * columns + j];
        largest = std::max(largest, std::abs(sum - target[i * columns + j]));
      }
    }
    CHECK(largest < 1e-11);
  }
}

// The second difference matrix has the eigenvalues 2 - 2 cos(pi i / (n + 1)); a reflection hides it.
TEST_CASE("eigenvalues of a reflected second difference matrix are the cosines") {
  for (const std::size_t n : sizes) {
    CAPTURE(n);
    std::vector<double> v = random_values(n, 4);
    double square = 0.0;
    for (const double value : v) square += value * value;
    std::vector<double> a(n * n, 0.0);
    const auto difference = [](std::size_t i, std::size_t j) {
      return i == j ? 2.0 : (i + 1 == j || j + 1 == i ? -1.0 : 0.0);
    };
    std::vector<double> image(n, 0.0);  // A v
    double both = 0.0;                  // v' A v
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) image[i] += difference(i, j) * v[j];
      both += v[i] * image[i];
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        a[i * n + j] = difference(i, j) - 2.0 * (v[i] * image[j] + image[i] * v[j]) / square +
                       4.0 * both * v[i] * v[j] / (square * square);
      }
    }
    std::vector<double> values(n);
    REQUIRE(linalg::eigenvalues(a, n, values));
    for (std::size_t i = 0; i < n; ++i) {
      const double angle = std::acos(-1.0) * static_cast<double>(i + 1) / static_cast<double>(n + 1);
      REQUIRE(values[i] == doctest::Approx(2.0 - 2.0 * std::cos(angle)).epsilon(1e-10));
    }
  }
}

TEST_CASE("large factorisations stop for others many times") {
  Counter counter;
  std::vector<double> a = positive_matrix(200, 1.0, 6);
  std::vector<double> values(200);
  std::vector<double> copy = a;
  present_yielder = &counter;
  REQUIRE(linalg::cholesky(a, 200));
  const int by_cholesky = counter.passes;
  REQUIRE(linalg::eigenvalues(copy, 200, values));
  present_yielder = nullptr;
  CHECK(by_cholesky >= 8);
  CHECK(counter.passes - by_cholesky >= 10);
}
