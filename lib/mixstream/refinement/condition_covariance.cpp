#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/linalg/blocked.hpp"
#include "mixstream/refinement/conditions_content.hpp"

namespace mixstream {
namespace {

constexpr std::size_t rows_at_once = 128;  // a block of scaled instruments stays in the cache
constexpr std::size_t panel = 48;          // columns of a symmetric block that are multiplied at once
constexpr std::size_t moment_count = 2 * highest_response_power + 1;

using Block = Conditions::Content::Block;

/// E[y^q | x] for q = 0 .. 10. The moments of N(m, s2): mu_q = m mu_{q-1} + (q-1) s2 mu_{q-2}, all terms of
/// one sign.
void conditional_moments(const Mixture& mixture, std::span<const double> features, double* moments) {
  std::fill_n(moments, moment_count, 0.0);
  for (std::size_t h = 0; h < mixture.component_count(); ++h) {
    const double mean = std::inner_product(features.begin(), features.end(), mixture.law(h).begin(), 0.0);
    double before = 0.0;
    double now = 1.0;
    for (std::size_t q = 0; q < moment_count; ++q) {
      moments[q] += mixture.weights[h] * now;
      const double next = mean * now + static_cast<double>(q) * mixture.noise_variances[h] * before;
      before = std::exchange(now, next);
    }
  }
}

/// Sums f g' w v over chunks of rows, block by block, into the upper triangle of a square matrix.
class CovarianceSum {
 public:
  CovarianceSum(const Conditions::Content& content, const Mixture& mixture, RowChoice rows, std::size_t size)
      : c_(content),
        mixture_(mixture),
        rows_(rows),
        sum_{size, size, linalg::zeros(size * size)},
        moments_(rows_at_once * moment_count),
        scaled_(linalg::zeros(rows_at_once * size)) {}

  void add(std::size_t begin, std::size_t count) {
    yield_point();
    for (std::size_t i = 0; i < count; ++i) {
      conditional_moments(mixture_, c_.sample.row(row(begin + i)).features,
                          moments_.data() + i * moment_count);
    }
    for (const Block& left : c_.blocks) {
      for (const Block& right : c_.blocks) {
        if (right.power < left.power) continue;
        yield_point();
        scale(left, right, begin, count);
      }
      multiply(left, begin, count);
    }
  }

  DenseMatrix finished() {
    yield_point();
    mirror_blocks();
    yield_point();
    double weight = 0.0;
    for (std::size_t i = rows_.first; i < c_.sample.size(); i += rows_.stride) weight += c_.sample.weights[i];
    for (std::size_t i = 0; i < sum_.rows; ++i) {
      if (i % 64 == 0) yield_point();
      for (std::size_t j = i; j < sum_.rows; ++j) sum_(j, i) = sum_(i, j) /= weight;
    }
    return std::move(sum_);
  }

 private:
  std::size_t row(std::size_t index) const noexcept { return rows_.first + index * rows_.stride; }

  const double* instruments(const Block& block, std::size_t begin) const {
    return c_.instruments.at(block.degree).values.data() + row(begin) * block.size;
  }

  /// scaled = w Cov(y^p, y^q | x) g, side by side for this right block and those after it.
  void scale(const Block& left, const Block& right, std::size_t begin, std::size_t count) {
    const std::size_t width = sum_.columns - left.offset;
    const double* g = instruments(right, begin);
    for (std::size_t i = 0; i < count; ++i, g += rows_.stride * right.size) {
      const double* m = moments_.data() + i * moment_count;
      const double v =
          c_.sample.weights[row(begin + i)] * (m[left.power + right.power] - m[left.power] * m[right.power]);
      double* to = scaled_.data() + i * width + right.offset - left.offset;
      for (std::size_t j = 0; j < right.size; ++j) to[j] = v * g[j];
    }
  }

  /// Adds f' scaled. Where f = g the product is symmetric, and large ones go by panels from the diagonal on.
  void multiply(const Block& left, std::size_t begin, std::size_t count) {
    if (left.size <= panel) {
      multiply(left, begin, count, {0, left.size}, {left.offset, sum_.columns});
      return;
    }
    for (const Block& right : c_.blocks) {
      if (right.power < left.power) continue;
      const bool symmetric = left.degree == right.degree;
      const std::size_t step = symmetric ? panel : left.size;
      for (std::size_t top = 0; top < left.size; top += step) {
        multiply(left, begin, count, {top, std::min(top + step, left.size)},
                 {right.offset + (symmetric ? top : 0), right.offset + right.size});
      }
    }
  }

  /// The same for some conditions of the left block against some columns of the sum.
  void multiply(const Block& left, std::size_t begin, std::size_t count,
                std::pair<std::size_t, std::size_t> conditions, std::pair<std::size_t, std::size_t> columns) {
    const std::size_t width = sum_.columns - left.offset;
    yield_point();
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans,
                static_cast<int>(conditions.second - conditions.first),
                static_cast<int>(columns.second - columns.first), static_cast<int>(count), 1.0,
                instruments(left, begin) + conditions.first, static_cast<int>(rows_.stride * left.size),
                scaled_.data() + columns.first - left.offset, static_cast<int>(width), 1.0,
                sum_.values.data() + (left.offset + conditions.first) * sum_.columns + columns.first,
                static_cast<int>(sum_.columns));
  }

  /// Fills the lower triangles of symmetric blocks off the diagonal.
  void mirror_blocks() {
    for (const Block& left : c_.blocks) {
      for (const Block& right : c_.blocks) {
        if (left.size <= panel || right.power <= left.power || left.degree != right.degree) continue;
        for (std::size_t i = 0; i < left.size; ++i) {
          for (std::size_t j = 0; j < i; ++j) {
            sum_(left.offset + i, right.offset + j) = sum_(left.offset + j, right.offset + i);
          }
        }
      }
    }
  }

  const Conditions::Content& c_;
  const Mixture& mixture_;
  RowChoice rows_;
  DenseMatrix sum_;
  std::vector<double> moments_;  // of the chunk's rows
  std::vector<double> scaled_;
};

}  // namespace

double Conditions::even_share() const noexcept {
  double even = 0.0;
  double total = 0.0;
  for (std::size_t i = 0; i < sample_size(); ++i) {
    total += content_->sample.weights[i];
    if (i % 2 == 0) even += content_->sample.weights[i];
  }
  return even / total;
}

DenseMatrix Conditions::covariance(const Mixture& mixture, RowChoice choice) const {
  const std::size_t rows = (sample_size() - choice.first + choice.stride - 1) / choice.stride;
  CovarianceSum sum(*content_, mixture, choice, size());
  for (std::size_t begin = 0; begin < rows; begin += rows_at_once) {
    sum.add(begin, std::min(rows_at_once, rows - begin));
  }
  return sum.finished();
}

double Conditions::variance_error(const Mixture& mixture, int highest_power) const {
  const Content& c = *content_;
  std::vector<double> sums(size(highest_power));  // of w g^2 Var(y^q | x), row by row
  std::vector<double> squares(sums.size());
  std::array<double, moment_count> moments;
  for (std::size_t i = 0; i < sample_size(); ++i) {
    if (i % 64 == 0) yield_point();
    conditional_moments(mixture, c.sample.row(i).features, moments.data());
    for (const Block& block : c.blocks) {
      if (block.power > highest_power) continue;
      const auto q = static_cast<std::size_t>(block.power);
      const double variance = c.sample.weights[i] * (moments[2 * q] - moments[q] * moments[q]);
      const double* g = c.instruments.at(block.degree).values.data() + i * block.size;
      for (std::size_t j = 0; j < block.size; ++j) {
        const double term = variance * g[j] * g[j];
        sums[block.offset + j] += term;
        squares[block.offset + j] += term * term;
      }
    }
  }
  double worst = 0.0;
  for (std::size_t j = 0; j < sums.size(); ++j) {
    if (sums[j] > 0.0) worst = std::max(worst, squares[j] / (sums[j] * sums[j]));
  }
  return std::sqrt(worst);
}

}  // namespace mixstream
