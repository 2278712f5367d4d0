#include "mixstream/likelihood/variants/em_variant.hpp"

#include "mixstream/likelihood/variants/vector_math.hpp"

namespace mixstream::variants {
namespace {

constexpr std::size_t rows = em_block_rows;
constexpr double least_log_term = -1e200;  // a row beyond all reason keeps a finite log-likelihood

/// Residuals and log( pi_h N(y; beta_h . x, s2_h) ) of one component, and the largest such term so far.
void log_terms(const double* block, const Laws& laws, std::size_t h, double* residuals, double* terms,
               double* largest) noexcept {
  const double* law = laws.coefficients + h * laws.feature_count;
  const double* y = block + laws.feature_count * rows;
  for (std::size_t row = 0; row < rows; row += vector_width) {
    Vector e = load(y + row);
    for (std::size_t j = 0; j < laws.feature_count; ++j) e -= law[j] * load(block + j * rows + row);
    const Vector term = larger(laws.offsets[h] - laws.half_precisions[h] * e * e, broadcast(least_log_term));
    store(residuals + row, e);
    store(terms + row, term);
    store(largest + row, h == 0 ? term : larger(term, load(largest + row)));
  }
}

/// Asks for the block that follows in memory, if one does: asking beyond the end does no harm.
void fetch_next(const double* block, std::size_t feature_count) noexcept {
  const std::size_t size = (feature_count + 2) * rows;
  for (std::size_t at = size; at < 2 * size; at += 8) __builtin_prefetch(block + at);
}

/// Terms become w P(h | x, y), the largest terms log p(y | x); returns sum w log p(y | x).
double shares_of(const double* weights, std::size_t components, double* largest, double* terms) noexcept {
  Vector log_likelihood{};
  for (std::size_t row = 0; row < rows; row += vector_width) {
    const Vector top = load(largest + row);
    Vector total{};
    for (std::size_t h = 0; h < components; ++h) {
      const Vector term = exponential(load(terms + h * rows + row) - top);
      store(terms + h * rows + row, term);
      total += term;
    }
    const Vector weight = load(weights + row);
    const Vector log_density = top + logarithm(total);
    store(largest + row, log_density);
    log_likelihood += weight * log_density;
    const Vector factor = weight / total;
    for (std::size_t h = 0; h < components; ++h) {
      store(terms + h * rows + row, factor * load(terms + h * rows + row));
    }
  }
  return sum_of(log_likelihood);
}

/// sums[a][b] = sum share * left_a * right_b: a tile that stays in registers.
template <std::size_t Left, std::size_t Right>
void tile(const double* share, const double* const* left, const double* const* right,
          double (&sums)[2][4]) noexcept {
  Vector total[Left][Right] = {};
  for (std::size_t row = 0; row < rows; row += vector_width) {
    const Vector weight = load(share + row);
    Vector scaled[Left];
    for (std::size_t a = 0; a < Left; ++a) scaled[a] = weight * load(left[a] + row);
    for (std::size_t b = 0; b < Right; ++b) {
      const Vector column = load(right[b] + row);
      for (std::size_t a = 0; a < Left; ++a) total[a][b] += scaled[a] * column;
    }
  }
  for (std::size_t a = 0; a < Left; ++a) {
    for (std::size_t b = 0; b < Right; ++b) sums[a][b] = sum_of(total[a][b]);
  }
}

using Tile = void (*)(const double*, const double* const*, const double* const*, double (&)[2][4]) noexcept;
constexpr Tile tiles[2][4] = {{tile<1, 1>, tile<1, 2>, tile<1, 3>, tile<1, 4>},
                              {tile<2, 1>, tile<2, 2>, tile<2, 3>, tile<2, 4>}};

/// Adds the lower triangle of sum share z z', z = (x, e), in tiles of two rows and four columns.
void add_triangle(const double* block, std::size_t feature_count, const double* residuals,
                  const double* share, double* sums) noexcept {
  const std::size_t size = feature_count + 1;
  const auto column = [&](std::size_t j) { return j < feature_count ? block + j * rows : residuals; };
  for (std::size_t i = 0; i < size; i += 2) {
    const std::size_t left_count = size - i < 2 ? 1 : 2;
    const double* left[2] = {column(i), column(i + left_count - 1)};
    const std::size_t end = i + left_count;
    for (std::size_t j = 0; j < end; j += 4) {
      const std::size_t right_count = end - j < 4 ? end - j : 4;
      const double* right[4];
      for (std::size_t b = 0; b < right_count; ++b) right[b] = column(j + b);
      double found[2][4];
      tiles[left_count - 1][right_count - 1](share, left, right, found);
      for (std::size_t a = i; a < end; ++a) {
        for (std::size_t b = j; b < j + right_count && b <= a; ++b) {
          sums[a * (a + 1) / 2 + b] += found[a - i][b - j];
        }
      }
    }
  }
}

}  // namespace

double MIXSTREAM_KERNEL_ENTRY(const double* block, const Laws& laws, double* scratch, double* sums) noexcept {
  const std::size_t k = laws.component_count;
  const std::size_t d = laws.feature_count;
  double* terms = scratch + k * rows;
  double* largest = terms + k * rows;
  fetch_next(block, d);
  for (std::size_t h = 0; h < k; ++h) {
    log_terms(block, laws, h, scratch + h * rows, terms + h * rows, largest);
  }
  const double log_likelihood = shares_of(block + (d + 1) * rows, k, largest, terms);
  if (sums == nullptr) return log_likelihood;
  const std::size_t triangle = (d + 1) * (d + 2) / 2;
  for (std::size_t h = 0; h < k; ++h, sums += triangle + 1) {
    const double* share = terms + h * rows;
    add_triangle(block, d, scratch + h * rows, share, sums);
    Vector count{};
    for (std::size_t row = 0; row < rows; row += vector_width) count += load(share + row);
    sums[triangle] += sum_of(count);
  }
  return log_likelihood;
}

}  // namespace mixstream::variants
