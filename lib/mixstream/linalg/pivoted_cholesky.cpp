#include "mixstream/linalg/pivoted_cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mixstream/linalg/packed.hpp"

namespace mixstream {
namespace {

// A pivot below this share of the (unit) diagonal is rounding, not information.
constexpr double smallest_pivot = 1e-13;

}  // namespace

PivotedCholesky::PivotedCholesky(std::size_t size)
    : size_(size),
      lower_(size * size),
      scale_(size),
      order_(size),
      work_(size),
      column_(size),
      null_(size * size) {}

std::size_t PivotedCholesky::factor(std::span<const double> packed) noexcept {
  const std::size_t n = size_;
  rank_ = 0;
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  if (!std::ranges::all_of(packed, [](double value) { return std::isfinite(value); })) {
    std::ranges::fill(scale_, 0.0);
    find_null_space();
    return 0;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double diagonal = packed[packed_index(i, i)];
    scale_[i] = diagonal > 0.0 ? 1.0 / std::sqrt(diagonal) : 0.0;
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      lower_[i * n + j] = lower_[j * n + i] = packed[packed_index(i, j)] * scale_[i] * scale_[j];
    }
  }
  for (; rank_ < n; ++rank_) {  // the trailing square holds what is left of the matrix
    const std::size_t at = rank_;
    std::size_t best = at;
    for (std::size_t i = at + 1; i < n; ++i) {
      if (lower_[i * n + i] > lower_[best * n + best]) best = i;
    }
    if (!(lower_[best * n + best] > smallest_pivot * static_cast<double>(n))) break;
    if (best != at) {
      std::swap(order_[at], order_[best]);
      std::swap_ranges(lower_.begin() + static_cast<std::ptrdiff_t>(at * n),
                       lower_.begin() + static_cast<std::ptrdiff_t>(at * n + n),
                       lower_.begin() + static_cast<std::ptrdiff_t>(best * n));
      for (std::size_t i = 0; i < n; ++i) std::swap(lower_[i * n + at], lower_[i * n + best]);
    }
    const double pivot = std::sqrt(lower_[at * n + at]);
    lower_[at * n + at] = pivot;
    for (std::size_t i = at + 1; i < n; ++i) column_[i] = lower_[i * n + at] /= pivot;
    for (std::size_t i = at + 1; i < n; ++i) {
      double* row = lower_.data() + i * n;
      for (std::size_t j = at + 1; j < n; ++j) row[j] -= column_[i] * column_[j];
    }
  }
  find_null_space();
  return rank_;
}

// L = (L1; L2) has rank_ columns, so L L' (-L1'^-1 L2' e; e) = 0 for every unit vector e of the rest. Each
// such vector is made orthogonal to those before it, twice for the digits.
void PivotedCholesky::find_null_space() noexcept {
  const std::size_t n = size_;
  for (std::size_t m = rank_; m < n; ++m) {
    double* const vector = null_.data() + m * n;
    std::fill_n(vector, n, 0.0);
    vector[m] = 1.0;
    for (std::size_t i = rank_; i-- > 0;) {
      double value = -lower_[m * n + i];
      for (std::size_t j = i + 1; j < rank_; ++j) value -= lower_[j * n + i] * vector[j];
      vector[i] = value / lower_[i * n + i];
    }
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t other = rank_; other < m; ++other) remove(null_.data() + other * n, vector);
    }
    const double length = std::sqrt(std::inner_product(vector, vector + n, vector, 0.0));
    for (std::size_t i = 0; i < n; ++i) vector[i] /= length;
  }
}

/// vector -= (unit . vector) unit.
void PivotedCholesky::remove(const double* unit, double* vector) const noexcept {
  const double along = std::inner_product(unit, unit + size_, vector, 0.0);
  for (std::size_t i = 0; i < size_; ++i) vector[i] -= along * unit[i];
}

void PivotedCholesky::forward(std::span<const double> vector) noexcept {
  for (std::size_t i = 0; i < rank_; ++i) {
    double value = vector[order_[i]] * scale_[order_[i]];
    for (std::size_t j = 0; j < i; ++j) value -= lower_[i * size_ + j] * work_[j];
    work_[i] = value / lower_[i * size_ + i];
  }
}

void PivotedCholesky::back(std::span<double> vector) noexcept {
  for (std::size_t i = rank_; i-- > 0;) {
    double value = work_[i];
    for (std::size_t j = i + 1; j < rank_; ++j) value -= lower_[j * size_ + i] * work_[j];
    work_[i] = value / lower_[i * size_ + i];
  }
  std::fill(work_.begin() + static_cast<std::ptrdiff_t>(rank_), work_.end(), 0.0);
  for (std::size_t m = rank_; m < size_; ++m) remove(null_.data() + m * size_, work_.data());
  for (std::size_t i = 0; i < size_; ++i) vector[order_[i]] = work_[i] * scale_[order_[i]];
}

void PivotedCholesky::solve(std::span<double> vector) noexcept {
  forward(vector);
  back(vector);
}

void PivotedCholesky::solve_root(std::span<double> vector) noexcept {
  std::ranges::copy(vector, work_.begin());
  back(vector);
}

double PivotedCholesky::inverse_form(std::span<const double> vector) noexcept {
  forward(vector);
  double sum = 0.0;
  for (std::size_t i = 0; i < rank_; ++i) sum += work_[i] * work_[i];
  return sum;
}

void PivotedCholesky::inverse(std::span<double> packed) noexcept {
  for (std::size_t i = 0; i < size_; ++i) {
    std::ranges::fill(column_, 0.0);
    column_[i] = 1.0;
    solve(column_);
    for (std::size_t j = 0; j <= i; ++j) packed[packed_index(i, j)] = column_[j];
  }
}

}  // namespace mixstream
