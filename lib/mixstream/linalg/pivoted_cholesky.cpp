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
    : size_(size), lower_(size * size), scale_(size), order_(size), work_(size), column_(size) {}

std::size_t PivotedCholesky::factor(std::span<const double> packed) noexcept {
  const std::size_t n = size_;
  rank_ = 0;
  if (!std::ranges::all_of(packed, [](double value) { return std::isfinite(value); })) return 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double diagonal = packed[packed_index(i, i)];
    scale_[i] = diagonal > 0.0 ? 1.0 / std::sqrt(diagonal) : 0.0;
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      lower_[i * n + j] = lower_[j * n + i] = packed[packed_index(i, j)] * scale_[i] * scale_[j];
    }
  }
  std::iota(order_.begin(), order_.end(), std::size_t{0});
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
  return rank_;
}

void PivotedCholesky::forward(std::span<const double> vector) noexcept {
  for (std::size_t i = 0; i < rank_; ++i) {
    double value = vector[order_[i]] * scale_[order_[i]];
    for (std::size_t j = 0; j < i; ++j) value -= lower_[i * size_ + j] * work_[j];
    work_[i] = value / lower_[i * size_ + i];
  }
}

void PivotedCholesky::back(std::span<double> vector) noexcept {
  std::ranges::fill(vector, 0.0);
  for (std::size_t i = rank_; i-- > 0;) {
    double value = work_[i];
    for (std::size_t j = i + 1; j < rank_; ++j) value -= lower_[j * size_ + i] * work_[j];
    work_[i] = value / lower_[i * size_ + i];
    vector[order_[i]] = work_[i] * scale_[order_[i]];
  }
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
