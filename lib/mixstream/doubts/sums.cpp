#include "mixstream/doubts/sums.hpp"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/linalg/packed.hpp"
#include "mixstream/linalg/pivoted_cholesky.hpp"
#include "mixstream/linalg/products.hpp"
#include "mixstream/linalg/spectrum.hpp"

namespace mixstream {
namespace {

constexpr std::size_t block_rows = 128;         // of the products, and of a stretch
constexpr double least_own_information = 1e-7;  // of an extension's, a share of what it has alone

/// Rows of scores, added to the sums block by block with the polish's own kernel.
class Block {
 public:
  Block(DoubtSums& sums, const variants::RowStep& kernels)
      : sums_(sums),
        kernels_(kernels),
        width_(sums.first.size()),
        stride_((width_ + 7) / 8 * 8),
        values_(block_rows * stride_),
        scratch_(block_rows * stride_),
        packed_(width_ * (width_ + 1) / 2),
        batch_(stride_) {
    weights_.reserve(block_rows);
  }

  std::span<double> next() noexcept { return std::span(values_).subspan(weights_.size() * stride_, width_); }
  void weigh(double weight) {
    weights_.push_back(weight);
    if (weights_.size() == block_rows) flush();
  }
  void finish() {
    flush();
    for (std::size_t i = 0, at = 0; i < width_; ++i) {
      for (std::size_t j = 0; j <= i; ++j) sums_.second(i, j) = sums_.second(j, i) = packed_[at++];
    }
  }

 private:
  void flush() {
    if (weights_.empty()) return;
    yield_point();
    kernels_.add_products(weights_.size(), width_, stride_, values_.data(), weights_.data(), scratch_.data(),
                          batch_.data(), packed_.data());
    for (std::size_t q = 0; q < width_; ++q) sums_.first[q] += batch_[q];
    if (weights_.size() == block_rows) {
      sums_.batches.values.insert(sums_.batches.values.end(), batch_.begin(),
                                  batch_.begin() + static_cast<std::ptrdiff_t>(width_));
      ++sums_.batches.rows;
    }
    weights_.clear();
  }

  DoubtSums& sums_;
  const variants::RowStep& kernels_;
  std::size_t width_;
  std::size_t stride_;
  std::vector<double> values_;  // block_rows x stride, zero beyond the width
  std::vector<double> weights_;
  std::vector<double> scratch_;
  std::vector<double> packed_;
  std::vector<double> batch_;
};

/// Rows U with U A U' = 1 on the numerical range of a small A, after scaling by `scale`.
DenseMatrix inverse_root(const DenseMatrix& form, std::span<const double> scale) {
  DenseMatrix scaled = form;
  for (std::size_t i = 0; i < form.rows; ++i) {
    for (std::size_t j = 0; j < form.rows; ++j) scaled(i, j) /= scale[i] * scale[j];
  }
  SymmetricEigen eigen;
  DenseMatrix root{0, form.rows, {}};
  if (!eigen.decompose(scaled)) return root;
  for (std::size_t e = 0; e < form.rows; ++e) {
    if (!(eigen.values[e] > least_own_information)) continue;
    ++root.rows;
    for (std::size_t j = 0; j < form.rows; ++j)
      root.values.push_back(eigen.vectors(e, j) / std::sqrt(eigen.values[e]) / scale[j]);
  }
  return root;
}

}  // namespace

double chi_square_p(double statistic, double dof) noexcept {
  if (!(statistic > 0.0) || dof <= 0.0) return 1.0;
  return boost::math::gamma_q(0.5 * dof, 0.5 * std::min(statistic, 1e6));
}

double f_p(double statistic, double dof, double other) noexcept {
  if (!(statistic > 0.0) || dof <= 0.0 || other <= 0.0) return 1.0;
  return boost::math::ibeta(0.5 * other, 0.5 * dof, other / (other + dof * std::min(statistic, 1e12)));
}

DoubtSums sums_of(const ModeModel& model, const ModeShape& shape, const HeldDesign& design,
                  const Extension& extension, const Watch& watch) {
  DoubtSums sums;
  sums.parameters = shape.parameters();
  sums.rows = design.weight;
  const std::size_t width = sums.parameters + extension.columns();
  reshape(sums.second, width, width);
  sums.first.assign(width, 0.0);
  sums.batches.columns = width;
  Sighting sighting(model, shape, slots_of(design.rows));
  Block block(sums, sighting.kernels());
  for (std::size_t t = 0; t < design.rows.size(); ++t) {
    const PlacedRow& placed = design.rows[t];
    const Sight& sight = sighting.see(placed.row, placed.slot, placed.steps);
    const RowBefore& before = sighting.before(placed.slot);
    const std::span<double> row = block.next();
    std::ranges::copy(sight.score, row.begin());
    extension.score(sight, before, t, row.subspan(sums.parameters));
    if (watch) watch(sight, before, t);
    sums.log_likelihood += placed.row.weight * sight.log_density;
    block.weigh(placed.row.weight);
    sighting.remember(placed.row, placed.slot);
  }
  block.finish();
  return sums;
}

Projection::Projection(const DoubtSums& sums)
    : parameters_(sums.parameters), columns_(sums.first.size() - sums.parameters) {
  const std::size_t p = parameters_;
  DenseMatrix information{p, p, std::vector<double>(p * p)};
  for (std::size_t i = 0; i < p; ++i) {
    for (std::size_t j = 0; j < p; ++j) information(i, j) = sums.second(i, j);
  }
  ScaledEigen eigen;
  const bool sound = eigen.decompose(information, estimated_cutoff);
  reshape(inverse_, p, p);
  reshape(slopes_, columns_, p);
  reshape(rest_, columns_, columns_);
  scale_.assign(columns_, 1.0);
  std::vector<double> target(p), scratch;
  for (std::size_t i = 0; i < p && sound; ++i) {
    std::ranges::fill(target, 0.0);
    target[i] = 1.0;
    eigen.solve(target, std::span(inverse_.values).subspan(i * p, p), scratch);
  }
  multiply(inverse_, std::span(sums.first).first(p), target);
  own_gain_ = 0.5 * dot(target, std::span(sums.first).first(p));
  for (std::size_t c = 0; c < columns_; ++c) {
    if (c % 16 == 0) yield_point();
    const auto cross = std::span(sums.second.values).subspan((p + c) * (p + columns_), p);
    multiply(inverse_, cross, std::span(slopes_.values).subspan(c * p, p));
    scale_[c] = std::sqrt(std::max(sums.second(p + c, p + c), 1e-300));
  }
  sums_.assign(columns_, 0.0);
  for (std::size_t c = 0; c < columns_; ++c) {
    const auto slope = std::span(slopes_.values).subspan(c * p, p);
    for (std::size_t e = 0; e < columns_; ++e)
      rest_(c, e) = sums.second(p + c, p + e) -
                    dot(slope, std::span(sums.second.values).subspan((p + e) * (p + columns_), p));
    sums_[c] = sums.first[p + c] - dot(slope, std::span(sums.first).first(p));
  }
  reshape(batches_, sums.batches.rows, columns_);
  for (std::size_t b = 0; b < sums.batches.rows; ++b) {
    const auto batch = std::span(sums.batches.values).subspan(b * (p + columns_), p + columns_);
    for (std::size_t c = 0; c < columns_; ++c)
      batches_(b, c) = batch[p + c] - dot(std::span(slopes_.values).subspan(c * p, p), batch.first(p));
  }
}

/// A row of A times a matrix of `columns_` rows.
std::vector<double> Projection::combined(const Look& look, std::size_t dimension,
                                         const DenseMatrix& rows) const {
  std::vector<double> result(rows.columns);
  for (const std::size_t c : look.sums[dimension]) {
    for (std::size_t j = 0; j < rows.columns; ++j) result[j] += rows(c, j);
  }
  return result;
}

DenseMatrix Projection::form(const Look& look) const {
  const std::size_t size = look.sums.size();
  DenseMatrix result{size, size, std::vector<double>(size * size)};
  for (std::size_t i = 0; i < size; ++i) {
    const std::vector<double> row = combined(look, i, rest_);
    for (std::size_t j = 0; j < size; ++j) {
      for (const std::size_t c : look.sums[j]) result(i, j) += row[c];
    }
  }
  return result;
}

double Projection::batch_p(const Look& look, const DenseMatrix& root) const {
  const std::size_t count = batches_.rows;
  const std::size_t dim = root.rows;
  if (count < dim + 6) return 1.0;
  DenseMatrix whitened{count, dim, std::vector<double>(count * dim)};
  std::vector<double> mean(dim);
  for (std::size_t b = 0; b < count; ++b) {
    for (std::size_t e = 0; e < dim; ++e) {
      for (std::size_t i = 0; i < look.sums.size(); ++i) {
        for (const std::size_t c : look.sums[i]) whitened(b, e) += root(e, i) * batches_(b, c);
      }
      mean[e] += whitened(b, e) / static_cast<double>(count);
    }
  }
  DenseMatrix covariance{dim, dim, std::vector<double>(dim * dim)};
  for (std::size_t b = 0; b < count; ++b) {
    for (std::size_t e = 0; e < dim; ++e) {
      for (std::size_t f = 0; f < dim; ++f)
        covariance(e, f) +=
            (whitened(b, e) - mean[e]) * (whitened(b, f) - mean[f]) / static_cast<double>(count - 1);
    }
  }
  std::vector<double> solved = mean;
  PivotedCholesky factor(dim);
  if (factor.factor(packed_from(covariance)) < dim) return 1.0;
  factor.solve(solved);
  const double hotelling = static_cast<double>(count) * dot(mean, solved);
  const auto m = static_cast<double>(count);
  const auto p = static_cast<double>(dim);
  return f_p(hotelling * (m - p) / (p * (m - 1.0)), p, m - p);
}

LookResult Projection::test(const Look& look) const {
  LookResult result;
  const std::size_t size = look.sums.size();
  std::vector<double> scale(size), target(size);
  for (std::size_t i = 0; i < size; ++i) {
    double square = 0.0;
    for (const std::size_t c : look.sums[i]) {
      square += scale_[c] * scale_[c];
      target[i] += sums_[c];
    }
    scale[i] = std::sqrt(square);
  }
  const DenseMatrix root = inverse_root(form(look), scale);
  result.dof = root.rows;
  result.step.assign(size, 0.0);
  result.move.assign(parameters_, 0.0);
  for (std::size_t e = 0; e < root.rows; ++e) {
    const auto row = std::span(root.values).subspan(e * size, size);
    const double part = dot(row, target);
    result.statistic += part * part;
    for (std::size_t i = 0; i < size; ++i) result.step[i] += part * row[i];
  }
  for (std::size_t i = 0; i < size; ++i) {
    const std::vector<double> slope = combined(look, i, slopes_);
    for (std::size_t q = 0; q < parameters_; ++q) result.move[q] -= slope[q] * result.step[i];
  }
  result.p = chi_square_p(result.statistic, static_cast<double>(result.dof));
  result.batch_p = root.rows > 0 ? batch_p(look, root) : 1.0;
  return result;
}

void Projection::take(const Look& look) {
  const std::size_t size = look.sums.size();
  std::vector<double> scale(size, 1.0);
  const DenseMatrix a_v = [&] {
    DenseMatrix rows{size, columns_, {}};
    for (std::size_t i = 0; i < size; ++i) {
      const std::vector<double> row = combined(look, i, rest_);
      rows.values.insert(rows.values.end(), row.begin(), row.end());
    }
    return rows;
  }();
  const DenseMatrix v = form(look);
  for (std::size_t i = 0; i < size; ++i) scale[i] = std::sqrt(std::max(v(i, i), 1e-300));
  const DenseMatrix root = inverse_root(v, scale);
  DenseMatrix whitened;
  multiply(root, a_v, whitened);  // U A V: a dimension a row, already scaled to unit variance
  for (std::size_t e = 0; e < root.rows; ++e) {
    const auto row = std::span(whitened.values).subspan(e * columns_, columns_);
    const auto part_of = [&](std::span<const double> values) {
      double part = 0.0;
      for (std::size_t i = 0; i < size; ++i) {
        for (const std::size_t c : look.sums[i]) part += root(e, i) * values[c];
      }
      return part;
    };
    std::vector<double> slope(parameters_);
    for (std::size_t i = 0; i < size; ++i) {
      const std::vector<double> own = combined(look, i, slopes_);
      for (std::size_t q = 0; q < parameters_; ++q) slope[q] += root(e, i) * own[q];
    }
    const double part = part_of(sums_);
    std::vector<double> batch_parts(batches_.rows);
    for (std::size_t b = 0; b < batches_.rows; ++b)
      batch_parts[b] = part_of(std::span(batches_.values).subspan(b * columns_, columns_));
    for (std::size_t c = 0; c < columns_; ++c) {
      sums_[c] -= row[c] * part;
      for (std::size_t b = 0; b < batches_.rows; ++b) batches_(b, c) -= row[c] * batch_parts[b];
      for (std::size_t q = 0; q < parameters_; ++q) slopes_(c, q) -= row[c] * slope[q];
      for (std::size_t f = 0; f < columns_; ++f) rest_(c, f) -= row[c] * row[f];
    }
  }
}

}  // namespace mixstream
