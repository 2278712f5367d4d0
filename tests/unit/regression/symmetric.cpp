#include "mixstream/regression/symmetric.hpp"

#include <doctest/doctest.h>

#include <random>

#include "mixstream/moments/tensor.hpp"

using namespace mixstream;

namespace {

std::vector<double> draws(std::size_t count, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& value : values) value = normal(random);
  return values;
}

double inner(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

TEST_CASE("unfolding lays out every entry of the symmetric tensor and keeps lengths") {
  std::mt19937 random(1);
  for (int d = 1; d <= 5; ++d) {
    const auto n = static_cast<std::size_t>(d);
    const SymmetricShape shape(d, 3);
    const std::vector<double> v = draws(n, random);
    std::vector<double> collapsed(shape.size());
    shape.power(v, collapsed);
    DenseMatrix unfolding;
    shape.unfold(collapsed, unfolding);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t l = 0; l < n; ++l)
          CHECK(unfolding(i, j * n + l) == doctest::Approx(v[i] * v[j] * v[l]).epsilon(1e-13));
    CHECK(inner(unfolding.values, unfolding.values) == doctest::Approx(inner(collapsed, collapsed)));
  }
}

TEST_CASE("folding is the adjoint of unfolding") {
  std::mt19937 random(2);
  for (const int degree : {2, 3}) {
    const SymmetricShape shape(4, degree);
    const std::vector<double> m = draws(shape.size(), random);
    DenseMatrix unfolding;
    shape.unfold(m, unfolding);
    DenseMatrix other{unfolding.rows, unfolding.columns, draws(unfolding.values.size(), random)};
    std::vector<double> folded(shape.size());
    shape.fold(other, folded);
    CHECK(inner(unfolding.values, other.values) == doctest::Approx(inner(m, folded)).epsilon(1e-12));
    shape.fold(unfolding, folded);
    for (std::size_t i = 0; i < m.size(); ++i) CHECK(folded[i] == doctest::Approx(m[i]).epsilon(1e-13));
  }
}

TEST_CASE("a lift takes powers of x to powers of V'x") {
  std::mt19937 random(3);
  for (const int degree : {1, 2, 3}) {
    const int d = 4;
    for (const int r : {1, 3, 5}) {
      const DenseMatrix basis{4, static_cast<std::size_t>(r), draws(static_cast<std::size_t>(4 * r), random)};
      const SymmetricShape outer(d, degree);
      const SymmetricShape inner_shape(r, degree);
      DenseMatrix lifted;
      lift(basis, outer, inner_shape, lifted);
      const std::vector<double> x = draws(4, random);
      std::vector<double> u(static_cast<std::size_t>(r), 0.0);
      for (std::size_t q = 0; q < u.size(); ++q)
        for (std::size_t a = 0; a < 4; ++a) u[q] += basis(a, q) * x[a];
      std::vector<double> phi(outer.size());
      std::vector<double> psi(inner_shape.size());
      outer.power(x, phi);
      inner_shape.power(u, psi);
      for (std::size_t c = 0; c < psi.size(); ++c) {
        double sum = 0.0;
        for (std::size_t i = 0; i < phi.size(); ++i) sum += lifted(i, c) * phi[i];
        CHECK(sum == doctest::Approx(psi[c]).epsilon(1e-11));
      }
    }
  }
}
