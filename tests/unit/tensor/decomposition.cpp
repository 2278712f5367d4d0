#include "mixstream/tensor/decomposition.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "mixstream/tensor/whitening.hpp"

using namespace mixstream;

namespace {

using Rows = std::vector<std::vector<double>>;

double inner(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Orthonormal vectors by Gram and Schmidt.
Rows random_frame(std::size_t k, std::mt19937& random) {
  std::normal_distribution<double> normal;
  Rows frame;
  while (frame.size() < k) {
    std::vector<double> v(k);
    for (double& value : v) value = normal(random);
    for (int twice = 0; twice < 2; ++twice)
      for (const auto& other : frame) {
        const double along = inner(v, other);
        for (std::size_t i = 0; i < k; ++i) v[i] -= along * other[i];
      }
    const double length = std::sqrt(inner(v, v));
    if (length < 0.1) continue;
    for (double& value : v) value /= length;
    frame.push_back(v);
  }
  return frame;
}

CubeTensor composed(const Rows& vectors, const std::vector<double>& values) {
  const std::size_t k = vectors[0].size();
  CubeTensor tensor(k);
  for (std::size_t h = 0; h < vectors.size(); ++h)
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = 0; j < k; ++j)
        for (std::size_t l = 0; l < k; ++l)
          tensor(i, j, l) += values[h] * vectors[h][i] * vectors[h][j] * vectors[h][l];
  return tensor;
}

/// The largest entry of |a v - a' v'| over components, each matched to its nearest.
double mismatch(const OrthogonalParts& parts, const Rows& vectors, const std::vector<double>& values) {
  const std::size_t k = vectors.size();
  double worst = 0.0;
  for (std::size_t h = 0; h < k; ++h) {
    double nearest = 1e300;
    for (std::size_t g = 0; g < k; ++g) {
      double difference = 0.0;
      for (std::size_t i = 0; i < k; ++i) {
        difference =
            std::max(difference, std::abs(parts.values[g] * parts.vectors(g, i) - values[h] * vectors[h][i]));
      }
      nearest = std::min(nearest, difference);
    }
    worst = std::max(worst, nearest);
  }
  return worst;
}

}  // namespace

TEST_CASE("both decompositions find the parts of an exactly orthogonal tensor") {
  std::mt19937 random(5);
  for (std::size_t k = 1; k <= 8; ++k) {
    const Rows frame = random_frame(k, random);
    std::vector<double> values;
    for (std::size_t h = 0; h < k; ++h) values.push_back(1.0 + 0.35 * static_cast<double>(h % 4));
    const CubeTensor tensor = composed(frame, values);
    CAPTURE(k);
    CHECK(mismatch(power_method(tensor), frame, values) < 1e-10);
    CHECK(mismatch(joint_diagonalisation(tensor), frame, values) < 1e-10);
  }
}

TEST_CASE("a tensor whitened by its second moment is decomposed into laws and weights") {
  std::mt19937 random(6);
  std::normal_distribution<double> normal;
  for (std::size_t k = 1; k <= 5; ++k) {
    const std::size_t d = k + 1;
    Rows laws(k, std::vector<double>(d));
    std::vector<double> weights(k);
    double total = 0.0;
    for (std::size_t h = 0; h < k; ++h) {
      for (double& value : laws[h]) value = normal(random);
      total += weights[h] = 1.0 + static_cast<double>(h);
    }
    for (double& weight : weights) weight /= total;
    DenseMatrix second{d, d, std::vector<double>(d * d)};
    for (std::size_t h = 0; h < k; ++h)
      for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j < d; ++j) second(i, j) += weights[h] * laws[h][i] * laws[h][j];
    const Whitening whitening = whitening_of(second, k);
    REQUIRE(whitening.sound);
    Rows whitened(k, std::vector<double>(k, 0.0));  // W' beta_h
    for (std::size_t h = 0; h < k; ++h)
      for (std::size_t q = 0; q < k; ++q)
        for (std::size_t a = 0; a < d; ++a) whitened[h][q] += whitening.whiten(a, q) * laws[h][a];
    const OrthogonalParts parts = power_method(composed(whitened, weights));
    for (std::size_t h = 0; h < k; ++h) {
      double nearest = 1e300;
      for (std::size_t g = 0; g < k; ++g) {
        double difference = std::abs(1.0 / (parts.values[g] * parts.values[g]) - weights[h]);
        for (std::size_t a = 0; a < d; ++a) {
          double law = 0.0;
          for (std::size_t q = 0; q < k; ++q) {
            law += whitening.unwhiten(a, q) * parts.values[g] * parts.vectors(g, q);
          }
          difference = std::max(difference, std::abs(law - laws[h][a]));
        }
        nearest = std::min(nearest, difference);
      }
      CHECK(nearest < 1e-8);
    }
  }
}

TEST_CASE("a slightly wrong tensor gives slightly wrong parts") {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  const Rows frame = random_frame(4, random);
  const std::vector<double> values{1.5, 2.0, 2.5, 3.0};
  const Rows disturbances = random_frame(4, random);
  CubeTensor tensor = composed(frame, values);
  for (const auto& direction : disturbances) tensor.add_cube(direction, 1e-4 * normal(random));
  CHECK(mismatch(power_method(tensor), frame, values) < 1e-3);
  CHECK(mismatch(joint_diagonalisation(tensor), frame, values) < 1e-3);
}

TEST_CASE("a zero tensor is decomposed into nothing, without an endless loop or NaN") {
  for (const OrthogonalParts& parts : {power_method(CubeTensor(3)), joint_diagonalisation(CubeTensor(3))}) {
    for (const double value : parts.values) CHECK(value == 0.0);
    for (const double value : parts.vectors.values) CHECK(std::isfinite(value));
  }
}

TEST_CASE("orthonormalising keeps an orthonormal frame and refuses dependent rows") {
  std::mt19937 random(8);
  const Rows frame = random_frame(3, random);
  DenseMatrix rows{3, 3, {}};
  for (const auto& row : frame) rows.values.insert(rows.values.end(), row.begin(), row.end());
  DenseMatrix same = rows;
  REQUIRE(orthonormalise(same));
  for (std::size_t i = 0; i < 9; ++i) CHECK(same.values[i] == doctest::Approx(rows.values[i]).epsilon(1e-12));
  DenseMatrix dependent{2, 2, {1.0, 2.0, 2.0, 4.0}};
  CHECK_FALSE(orthonormalise(dependent));
}
