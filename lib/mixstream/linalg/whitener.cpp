#include "mixstream/linalg/whitener.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/linalg/blaze.hpp"
#include "mixstream/linalg/blocked.hpp"
#include "mixstream/linalg/spectrum.hpp"

namespace mixstream::linalg {
namespace {

std::vector<double> inverse_scales(const auto& symmetric, std::size_t size) {
  std::vector<double> scales(size);
  for (std::size_t i = 0; i < size; ++i) scales[i] = 1.0 / std::sqrt(std::max(symmetric(i, i), 1e-300));
  return scales;
}

}  // namespace

Whitener::Whitener(const DenseMatrix& covariance, std::size_t leading) : size_(leading), rank_(leading) {
  use_one_thread();
  inverse_scale_ = inverse_scales(covariance, size_);
  const double norm = scale_into_factor(covariance);
  DenseMatrix scaled{size_, size_, zeros(factor_.size())};
  std::ranges::copy(factor_, scaled.values.begin());
  yield_point();
  // A reciprocal condition above the cutoff proves that no eigenvalue stands below it.
  regular_ = cholesky(factor_, size_) && reciprocal_condition(factor_, size_, norm) > 3.0 * estimated_cutoff;
  if (regular_) return;
  DenseMatrix root = inverse_root(scaled);
  rank_ = root.rows;
  factor_ = std::move(root.values);
}

/// Returns the largest row sum.
double Whitener::scale_into_factor(const DenseMatrix& covariance) {
  double norm = 0.0;
  factor_.reserve(size_ * size_);
  for (std::size_t i = 0; i < size_; ++i) {
    if (i % 64 == 0) yield_point();
    double row_sum = 0.0;
    for (std::size_t j = 0; j < size_; ++j) {
      factor_.push_back(covariance(i, j) * inverse_scale_[i] * inverse_scale_[j]);
      row_sum += std::abs(factor_.back());
    }
    norm = std::max(norm, row_sum);
  }
  return norm;
}

void Whitener::scale_rows(std::vector<double>& values, std::size_t columns) const {
  for (std::size_t i = 0; i < size_; ++i) {
    double* row = values.data() + i * columns;
    for (std::size_t j = 0; j < columns; ++j) row[j] *= inverse_scale_[i];
  }
}

void Whitener::apply(std::span<const double> rows, std::size_t columns, std::vector<double>& result) const {
  std::vector<double> scaled(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(size_ * columns));
  scale_rows(scaled, columns);
  if (regular_) {
    solve_lower(factor_, size_, scaled, columns);
    result = std::move(scaled);
    return;
  }
  result.assign(rank_ * columns, 0.0);
  multiply(Side::plain, factor_, scaled, result, rank_, size_, columns);
}

std::vector<double> Whitener::root() const {
  std::vector<double> result = zeros(size_ * rank_);
  if (regular_) {
    for (std::size_t i = 0; i < size_; ++i) {
      if (i % 64 == 0) yield_point();
      for (std::size_t j = 0; j <= i; ++j) result[i * size_ + j] = factor_[i * size_ + j] / inverse_scale_[i];
    }
    return result;
  }
  // W = D^-1/2 V' has the pseudo-inverse V D^1/2; W W' is the diagonal D^-1.
  for (std::size_t m = 0; m < rank_; ++m) {
    const double* row = factor_.data() + m * size_;
    double inverse_value = 0.0;
    for (std::size_t i = 0; i < size_; ++i) inverse_value += row[i] * row[i];
    for (std::size_t i = 0; i < size_; ++i) {
      result[i * rank_ + m] = row[i] / inverse_value / inverse_scale_[i];
    }
  }
  return result;
}

// tr(W S S' W') = |W S|^2
double Whitener::mean_variance(const Whitener& other) const {
  constexpr std::size_t columns_at_once = 64;
  const std::vector<double> root = other.root();
  std::vector<double> panel;
  std::vector<double> product;
  double trace = 0.0;
  for (std::size_t begin = 0; begin < other.rank_; begin += columns_at_once) {
    yield_point();
    const std::size_t columns = std::min(columns_at_once, other.rank_ - begin);
    panel.resize(size_ * columns);
    for (std::size_t i = 0; i < size_; ++i) {
      std::copy_n(root.data() + i * other.rank_ + begin, columns, panel.data() + i * columns);
    }
    apply(panel, columns, product);
    for (const double value : product) trace += value * value;
  }
  return trace / static_cast<double>(rank_);
}

}  // namespace mixstream::linalg
