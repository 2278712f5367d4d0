#include "mixstream/likelihood/least_squares.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/likelihood/expectation.hpp"

namespace mixstream {

SmallCholesky::SmallCholesky(std::size_t size) : size_(size), factor_(size * (size + 1) / 2) {
  for (std::size_t i = 0; i < size; ++i) factor_[i * (i + 1) / 2 + i] = 1.0;
}

void SmallCholesky::factor(std::span<const double> triangle) noexcept {
  std::ranges::copy(triangle, factor_.begin());
  for (std::size_t i = 0; i < size_; ++i) {
    double* row = factor_.data() + i * (i + 1) / 2;
    const double ridge = row[i] > 0.0 ? 1e-12 * row[i] : 1.0;
    for (std::size_t j = 0; j <= i; ++j) {
      const double* other = factor_.data() + j * (j + 1) / 2;
      double value = row[j];
      for (std::size_t m = 0; m < j; ++m) value -= row[m] * other[m];
      row[j] = i == j ? std::sqrt(std::max(value, 0.0) + ridge) : value / other[j];
    }
  }
}

void SmallCholesky::solve(std::span<double> right) const noexcept {
  for (std::size_t i = 0; i < size_; ++i) {
    const double* row = factor_.data() + i * (i + 1) / 2;
    for (std::size_t j = 0; j < i; ++j) right[i] -= row[j] * right[j];
    right[i] /= row[i];
  }
  solve_transposed(right);
}

void SmallCholesky::solve_transposed(std::span<double> right) const noexcept {
  for (std::size_t i = size_; i-- > 0;) {
    for (std::size_t m = i + 1; m < size_; ++m) right[i] -= factor_[m * (m + 1) / 2 + i] * right[m];
    right[i] /= factor_[i * (i + 1) / 2 + i];
  }
}

double SmallCholesky::length(std::span<const double> vector) const noexcept {
  double squares = 0.0;
  for (std::size_t j = 0; j < size_; ++j) {
    double entry = 0.0;
    for (std::size_t i = j; i < size_; ++i) entry += factor_[i * (i + 1) / 2 + j] * vector[i];
    squares += entry * entry;
  }
  return std::sqrt(squares);
}

LeastSquares least_squares(const RowBlocks& rows) {
  const std::size_t d = rows.feature_count();
  LeastSquares result{std::vector<double>(d), 0.0, SmallCholesky(d)};
  if (!(rows.total_weight() > 0.0)) return result;
  Mixture one = empty_mixture(1, d);  // of a single component every row is its own
  one.weights[0] = one.noise_variances[0] = 1.0;
  Expectation expectation(1, d);
  const std::size_t gram = d * (d + 1) / 2;
  std::vector<double> means(component_sums_size(d));
  std::vector<double> step(d);
  for (int pass = 0; pass < 2;
       ++pass) {  // the second, on residuals, brings back digits that a large y cancels
    expectation.begin(one);
    for (std::size_t block = 0; block < rows.block_count(); ++block) expectation.add(rows.block(block));
    std::ranges::transform(expectation.sums(), means.begin(),
                           [&](double sum) { return sum / rows.total_weight(); });
    result.factor.factor(std::span<const double>(means).first(gram));
    std::copy_n(means.begin() + static_cast<std::ptrdiff_t>(gram), d, step.begin());
    result.factor.solve(step);
    result.noise_variance = means[gram + d];
    for (std::size_t j = 0; j < d; ++j) {
      result.noise_variance -= step[j] * means[gram + j];
      one.coefficients[j] += step[j];
    }
  }
  result.law = one.coefficients;
  result.noise_variance = std::max(result.noise_variance, 0.0);
  return result;
}

}  // namespace mixstream
