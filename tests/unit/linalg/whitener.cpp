// Whitening, packed triangles and their congruences, against sums written out.
#include "mixstream/linalg/whitener.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "mixstream/core/random.hpp"
#include "mixstream/linalg/packed.hpp"
#include "mixstream/linalg/products.hpp"
#include "mixstream/linalg/spectrum.hpp"

using namespace mixstream;

namespace {

DenseMatrix covariance(std::size_t size, std::size_t rank, std::uint64_t seed) {
  Random random(seed);
  DenseMatrix result = zero_matrix(size, size);
  std::vector<double> v(size);
  for (std::size_t r = 0; r < rank; ++r) {
    for (double& value : v) value = random.normal();
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) result(i, j) += v[i] * v[j] / static_cast<double>(rank);
    }
  }
  return result;
}

}  // namespace

TEST_CASE("a whitener of a regular covariance and of a deficient one have unit variance for their own") {
  for (const std::size_t rank : {std::size_t{200}, std::size_t{12}}) {
    const DenseMatrix matrix = covariance(30, rank, rank);
    const linalg::Whitener whitener(matrix, 30);
    CHECK(whitener.rank() == std::min<std::size_t>(30, rank));
    CHECK(whitener.mean_variance(whitener) == doctest::Approx(1.0));
  }
}

TEST_CASE("a whitened vector has the length that the inverse gives it") {
  const DenseMatrix matrix = covariance(20, 100, 3);
  const linalg::Whitener whitener(matrix, 20);
  std::vector<double> vector(20);
  for (std::size_t i = 0; i < 20; ++i) vector[i] = static_cast<double>(i % 5) - 1.5;
  std::vector<double> whitened;
  whitener.apply(vector, 1, whitened);
  CHECK(dot(whitened, whitened) == doctest::Approx(quadratic_form(pseudo_inverse(matrix), vector)));
}

TEST_CASE("a congruence is the form of the mapped vector, and packed products are dense ones") {
  const DenseMatrix matrix = covariance(4, 9, 5);
  const std::vector<double> packed = packed_from(matrix);
  DenseMatrix map = zero_matrix(4, 4);
  map(0, 1) = map(1, 0) = map(2, 3) = 1.0;
  map(3, 2) = 2.0;
  map(0, 3) = -0.5;
  const std::vector<double> x{1.0, -2.0, 0.5, 3.0};
  std::vector<double> image(4);
  multiply_packed(congruent(packed, map), x, image);
  CHECK(dot(x, image) == doctest::Approx(quadratic_form(matrix, product(map, x))));
  multiply_packed(packed, x, image);
  const std::vector<double> dense = product(matrix, x);
  for (std::size_t i = 0; i < 4; ++i) CHECK(image[i] == doctest::Approx(dense[i]));
}
