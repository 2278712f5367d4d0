// Optimality is judged by code of this file's own: entries laid out by loops over index triples, singular
// values by one-sided Jacobi, the objective by its definition.
#include "mixstream/regression/nuclear.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

using namespace mixstream;

namespace {

using Numbers = std::vector<double>;

struct Problem {
  int d;
  int degree;
  std::vector<std::vector<int>> tuples;  // sorted, lexicographic
  Numbers root;                          // square roots of multiplicities
  DenseMatrix gram;
  Numbers target;
  double penalty;
};

Problem random_problem(int d, int degree, std::size_t rank, double penalty, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Problem problem{d, degree, {}, {}, {}, {}, penalty};
  for (int i = 0; i < d; ++i)
    for (int j = i; j < d; ++j) {
      if (degree == 2) {
        problem.tuples.push_back({i, j});
        problem.root.push_back(i == j ? 1.0 : std::sqrt(2.0));
        continue;
      }
      for (int l = j; l < d; ++l) {
        problem.tuples.push_back({i, j, l});
        problem.root.push_back(i == l ? 1.0 : (i == j || j == l ? std::sqrt(3.0) : std::sqrt(6.0)));
      }
    }
  const std::size_t n = problem.root.size();
  problem.gram = {n, n, Numbers(n * n)};
  Numbers factor(rank * n);
  Numbers truth(n);
  for (double& value : factor) value = normal(random);
  for (double& value : truth) value = normal(random);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t r = 0; r < rank; ++r)
        problem.gram(i, j) += factor[r * n + i] * factor[r * n + j] / static_cast<double>(rank);
  problem.target.assign(n, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) problem.target[i] += problem.gram(i, j) * truth[j];
  return problem;
}

/// Rows of the d x d^(p-1) unfolding of cvec.
std::vector<Numbers> unfolded(const Problem& problem, const Numbers& m) {
  std::map<std::vector<int>, double> entries;
  for (std::size_t t = 0; t < m.size(); ++t) entries[problem.tuples[t]] = m[t] / problem.root[t];
  std::vector<Numbers> rows(static_cast<std::size_t>(problem.d));
  for (int i = 0; i < problem.d; ++i)
    for (int j = 0; j < problem.d; ++j)
      for (int l = 0; l < (problem.degree == 3 ? problem.d : 1); ++l) {
        std::vector<int> tuple = problem.degree == 3 ? std::vector<int>{i, j, l} : std::vector<int>{i, j};
        std::ranges::sort(tuple);
        rows[static_cast<std::size_t>(i)].push_back(entries.at(tuple));
      }
  return rows;
}

Numbers folded(const Problem& problem, const std::vector<Numbers>& rows) {
  std::map<std::vector<int>, double> sums;
  for (int i = 0; i < problem.d; ++i)
    for (int j = 0; j < problem.d; ++j)
      for (int l = 0; l < (problem.degree == 3 ? problem.d : 1); ++l) {
        std::vector<int> tuple = problem.degree == 3 ? std::vector<int>{i, j, l} : std::vector<int>{i, j};
        std::ranges::sort(tuple);
        const int column = problem.degree == 3 ? j * problem.d + l : j;
        sums[tuple] += rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(column)];
      }
  Numbers result;
  for (std::size_t t = 0; t < problem.root.size(); ++t) {
    result.push_back(sums.at(problem.tuples[t]) / problem.root[t]);
  }
  return result;
}

double inner(const Numbers& a, const Numbers& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// One-sided Jacobi: rotates rows until they are orthogonal; their lengths are the singular values.
Numbers singular_values(std::vector<Numbers> rows) {
  for (int sweep = 0; sweep < 60; ++sweep)
    for (std::size_t p = 0; p < rows.size(); ++p)
      for (std::size_t q = p + 1; q < rows.size(); ++q) {
        const double angle = 0.5 * std::atan2(2.0 * inner(rows[p], rows[q]),
                                              inner(rows[p], rows[p]) - inner(rows[q], rows[q]));
        for (std::size_t i = 0; i < rows[p].size(); ++i) {
          const double a = rows[p][i];
          const double b = rows[q][i];
          rows[p][i] = std::cos(angle) * a + std::sin(angle) * b;
          rows[q][i] = std::cos(angle) * b - std::sin(angle) * a;
        }
      }
  Numbers values;
  for (const Numbers& row : rows) values.push_back(std::sqrt(inner(row, row)));
  std::ranges::sort(values, std::greater<>{});
  return values;
}

double nuclear_norm(const Problem& problem, const Numbers& m) {
  double sum = 0.0;
  for (const double value : singular_values(unfolded(problem, m))) sum += value;
  return sum;
}

Numbers gradient(const Problem& problem, const Numbers& m) {  // of the smooth part: Sigma m - target
  Numbers result;
  for (std::size_t i = 0; i < m.size(); ++i) {
    result.push_back(-problem.target[i]);
    for (std::size_t j = 0; j < m.size(); ++j) result.back() += problem.gram(i, j) * m[j];
  }
  return result;
}

double objective(const Problem& problem, const Numbers& m) {
  const Numbers slope = gradient(problem, m);
  return problem.penalty * nuclear_norm(problem, m) + 0.5 * (inner(slope, m) - inner(problem.target, m));
}

NuclearFit solved(const Problem& problem, const NuclearStart* warm = nullptr) {
  NuclearWorkspace workspace;
  NuclearFit fit;
  REQUIRE(nuclear_regression(problem.gram, problem.target, SymmetricShape(problem.d, problem.degree),
                             {problem.penalty, 20000, 1e-10}, warm, workspace, fit));
  REQUIRE(fit.converged);
  return fit;
}

const std::vector<Problem>& problems() {
  static const std::vector<Problem> all{
      random_problem(3, 2, 12, 0.3, 1),  random_problem(3, 3, 20, 0.5, 2),  // regular
      random_problem(4, 2, 6, 0.1, 3),   random_problem(4, 3, 9, 0.2, 4),   // singular: 6 of 10, 9 of 20
      random_problem(4, 2, 10, 1e-6, 5), random_problem(3, 3, 5, 1e-4, 6),  // small penalties
      random_problem(1, 3, 3, 0.1, 7),   random_problem(3, 2, 9, 1e3, 8),   // one feature; all shrunk to zero
  };
  return all;
}

}  // namespace

TEST_CASE("ADMM ends with a certificate of optimality") {
  for (const Problem& problem : problems()) {
    CAPTURE(problem.d);
    CAPTURE(problem.penalty);
    const NuclearFit fit = solved(problem);
    const std::size_t columns = fit.dual.size() / static_cast<std::size_t>(problem.d);
    std::vector<Numbers> dual;
    for (std::size_t i = 0; i < static_cast<std::size_t>(problem.d); ++i) {
      dual.emplace_back(fit.dual.begin() + static_cast<std::ptrdiff_t>(i * columns),
                        fit.dual.begin() + static_cast<std::ptrdiff_t>((i + 1) * columns));
    }
    // D in lambda d|M|_*: inside the dual ball, and <D, M> = lambda |M|_*
    CHECK(singular_values(dual).front() <= problem.penalty * (1 + 1e-6));
    double product = 0.0;
    const std::vector<Numbers> tensor = unfolded(problem, fit.coefficients);
    for (std::size_t i = 0; i < dual.size(); ++i) product += inner(dual[i], tensor[i]);
    const double nuclear = nuclear_norm(problem, fit.coefficients);
    CHECK(std::abs(product - problem.penalty * nuclear) <= 1e-6 * problem.penalty * (1 + nuclear));
    // stationarity: gradient + fold(D) = 0
    const Numbers slope = gradient(problem, fit.coefficients);
    const Numbers pull = folded(problem, dual);
    const double size = std::sqrt(inner(problem.target, problem.target));
    for (std::size_t i = 0; i < slope.size(); ++i) {
      CHECK(std::abs(slope[i] + pull[i]) <= 1e-6 * problem.penalty + 1e-9 * size);
    }
  }
}

TEST_CASE("ADMM's objective is the defined one and no small change improves it") {
  std::mt19937 random(9);
  std::normal_distribution<double> normal;
  for (const Problem& problem : problems()) {
    const NuclearFit fit = solved(problem);
    const double best = objective(problem, fit.coefficients);
    const double scale = 1e-12 + std::abs(best);
    CHECK(fit.objective == doctest::Approx(best).epsilon(1e-8));
    for (int trial = 0; trial < 100; ++trial) {
      Numbers changed = fit.coefficients;
      const double size = std::pow(10.0, -1.0 - trial % 5);
      for (double& value : changed) value += size * normal(random);
      CHECK(objective(problem, changed) >= best - 1e-10 * scale);
    }
  }
}

TEST_CASE("without a penalty ADMM gives the least squares solution") {
  Problem problem = random_problem(3, 3, 30, 0.0, 11);
  const NuclearFit fit = solved(problem);
  for (const double slope : gradient(problem, fit.coefficients)) CHECK(std::abs(slope) < 1e-9);
}

TEST_CASE("a warm start needs fewer iterations and ends at the same place") {
  for (const Problem& problem : problems()) {
    const NuclearFit cold = solved(problem);
    const NuclearStart start = cold.start();
    const NuclearFit warm = solved(problem, &start);
    CHECK(warm.iterations <= cold.iterations);
    CHECK(warm.iterations <= 25);
    CHECK(warm.objective == doctest::Approx(cold.objective).epsilon(1e-8));
  }
}
