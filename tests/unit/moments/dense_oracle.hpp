// The slow and obvious way: dense tensors x^(p), one entry per index tuple, summed row by row in long double.
// Shares nothing with the library but the types it checks.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "mixstream/core/dense.hpp"

namespace oracle {

struct Rows {
  std::vector<std::vector<double>> features;
  std::vector<double> responses;
  std::vector<double> weights;
};

inline Rows random_rows(int d, int constant, int count, unsigned seed, double centre = 0.5,
                        double weight_spread = 1.0) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Rows rows;
  for (int i = 0; i < count; ++i) {
    std::vector<double> x;
    for (int j = 0; j < d; ++j) x.push_back(j == constant ? 1.0 : centre + normal(random));
    rows.features.push_back(x);
    rows.responses.push_back(2.0 * x.back() - 1.0 + normal(random));
    rows.weights.push_back(std::exp(weight_spread * normal(random)));
  }
  return rows;
}

/// Distinct monomials of degree p as exponent vectors, in the order of sorted index tuples.
inline std::vector<std::vector<int>> exponents(std::size_t d, int degree) {
  if (degree == 0) return {std::vector<int>(d, 0)};
  std::vector<std::vector<int>> result;
  std::vector<std::size_t> tuple(static_cast<std::size_t>(degree), 0);
  std::size_t all = 1;
  for (int p = 0; p < degree; ++p) all *= d;
  for (std::size_t code = 0; code < all; ++code) {  // every tuple, kept when it is sorted
    std::size_t rest = code;
    for (std::size_t p = tuple.size(); p-- > 0; rest /= d) tuple[p] = rest % d;
    bool sorted = true;
    for (std::size_t p = 1; p < tuple.size(); ++p) sorted = sorted && tuple[p - 1] <= tuple[p];
    if (!sorted) continue;
    std::vector<int> exponent(d, 0);
    for (const std::size_t index : tuple) ++exponent[index];
    result.push_back(exponent);
  }
  return result;
}

/// How many index tuples of the dense tensor x^(p) hold this monomial.
inline double appearances(const std::vector<int>& exponent) {
  double result = 1.0;
  int placed = 0;
  for (const int e : exponent) {
    for (int i = 1; i <= e; ++i) result = result * ++placed / i;
  }
  return result;
}

inline long double monomial(const std::vector<double>& x, const std::vector<int>& exponent) {
  long double product = 1.0L;
  for (std::size_t j = 0; j < x.size(); ++j) {
    for (int e = 0; e < exponent[j]; ++e) product *= x[j];
  }
  return product;
}

/// Checks E[y^power phi_left phi_right'] to 1e-12 of the mean of the absolute terms.
inline void check(const mixstream::DenseMatrix& matrix, const Rows& rows, int power, int left, int right,
                  double tolerance = 1e-12) {
  const auto lefts = exponents(rows.features[0].size(), left);
  const auto rights = exponents(rows.features[0].size(), right);
  REQUIRE(matrix.rows == lefts.size());
  REQUIRE(matrix.columns == rights.size());
  long double total_weight = 0.0L;
  for (const double w : rows.weights) total_weight += w;
  for (std::size_t i = 0; i < lefts.size(); ++i) {
    for (std::size_t j = 0; j < rights.size(); ++j) {
      long double sum = 0.0L;
      long double absolute = 0.0L;
      for (std::size_t r = 0; r < rows.weights.size(); ++r) {
        const long double term = rows.weights[r] *
                                 std::pow(static_cast<long double>(rows.responses[r]), power) *
                                 monomial(rows.features[r], lefts[i]) * monomial(rows.features[r], rights[j]);
        sum += term;
        absolute += std::abs(term);
      }
      const double scale =
          std::sqrt(appearances(lefts[i]) * appearances(rights[j])) / static_cast<double>(total_weight);
      const double error = std::abs(matrix(i, j) - scale * static_cast<double>(sum));
      CHECK(error <= tolerance * scale * static_cast<double>(absolute));
    }
  }
}

}  // namespace oracle
