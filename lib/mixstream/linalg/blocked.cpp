#include "mixstream/linalg/blocked.hpp"

#include <blaze/math/lapack/clapack/potrf.h>
#include <blaze/math/lapack/clapack/potrs.h>
#include <cblas.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <vector>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/linalg/lapack.hpp"

namespace mixstream::linalg {
namespace {

constexpr std::size_t block = 64;
constexpr std::size_t products_a_piece = 2'000'000;  // about 0.1 ms

int as_int(std::size_t value) noexcept {
  return static_cast<int>(value);
}

/// Rows that are worth one piece when each costs so many products.
std::size_t rows_a_piece(std::size_t products_a_row) noexcept {
  return std::max<std::size_t>(8, products_a_piece / std::max<std::size_t>(1, products_a_row));
}

/// A22 -= A21 A21' below the diagonal, A21 the columns [begin, begin + width).
void update_rest(double* a, std::size_t n, std::size_t begin, std::size_t width) {
  for (std::size_t top = begin + width; top < n; top += block) {
    yield_point();
    const std::size_t rows = std::min(block, n - top);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, as_int(rows), as_int(top + rows - begin - width),
                as_int(width), -1.0, a + top * n + begin, as_int(n), a + (begin + width) * n + begin,
                as_int(n), 1.0, a + top * n + begin + width, as_int(n));
  }
}

}  // namespace

std::vector<double> zeros(std::size_t count) {
  constexpr std::size_t piece = 16384;
  std::vector<double> values;
  values.reserve(count);
  for (std::size_t filled = 0; filled < count; filled += piece) {
    yield_point();
    values.resize(std::min(filled + piece, count), 0.0);
  }
  return values;
}

bool cholesky(std::span<double> matrix, std::size_t n) {
  double* const a = matrix.data();
  for (std::size_t begin = 0; begin < n; begin += block) {
    yield_point();
    const std::size_t width = std::min(block, n - begin);
    double* const corner = a + begin * n + begin;
    const int order = as_int(width), spacing = as_int(n);
    int info = 0;
    blaze::potrf('U', order, corner, spacing, &info);  // reads rows as columns: its upper is our lower
    if (info != 0) return false;
    for (std::size_t top = begin + width; top < n; top += 4 * block) {
      yield_point();
      cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit,
                  as_int(std::min(4 * block, n - top)), order, 1.0, corner, spacing, a + top * n + begin,
                  spacing);
    }
    update_rest(a, n, begin, width);
  }
  return true;
}

void solve(std::span<const double> factor, std::size_t n, std::span<double> vector) {
  const int order = as_int(n);
  int info = 0;
  blaze::potrs('U', order, 1, factor.data(), order, vector.data(), order, &info);
}

double reciprocal_condition(std::span<const double> factor, std::size_t n, double norm) {
  if (n == 0) return 1.0;
  std::vector<double> v(n), x(n);
  std::vector<int> signs(n);
  std::array<int, 3> memory{};
  const int order = as_int(n);
  double estimate = 0.0;
  for (int stage = 0;;) {
    dlacn2_(&order, v.data(), x.data(), signs.data(), &estimate, &stage, memory.data());
    if (stage == 0) break;
    for (const CBLAS_TRANSPOSE side : {CblasNoTrans, CblasTrans}) {  // A^-1 = L'^-1 L^-1, its own transpose
      yield_point();
      cblas_dtrsv(CblasRowMajor, CblasLower, side, CblasNonUnit, order, factor.data(), order, x.data(), 1);
    }
  }
  const double reciprocal = 1.0 / estimate / norm;
  return std::isfinite(reciprocal) ? reciprocal : 0.0;
}

void solve_lower(std::span<const double> factor, std::size_t n, std::span<double> values,
                 std::size_t columns) {
  const std::size_t step = rows_a_piece(n * n / 2);
  for (std::size_t begin = 0; begin < columns; begin += step) {
    yield_point();
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, as_int(n),
                as_int(std::min(step, columns - begin)), 1.0, factor.data(), as_int(n), values.data() + begin,
                as_int(columns));
  }
}

void multiply(Side side, std::span<const double> left, std::span<const double> right,
              std::span<double> target, std::size_t rows, std::size_t inner, std::size_t columns) {
  const bool plain = side == Side::plain;
  const std::size_t step = rows_a_piece(inner * columns);
  for (std::size_t top = 0; top < rows; top += step) {
    yield_point();
    cblas_dgemm(CblasRowMajor, plain ? CblasNoTrans : CblasTrans, CblasNoTrans,
                as_int(std::min(step, rows - top)), as_int(columns), as_int(inner), 1.0,
                left.data() + (plain ? top * inner : top), as_int(plain ? inner : rows), right.data(),
                as_int(columns), 0.0, target.data() + top * columns, as_int(columns));
  }
}

// Householder vectors of `width` columns at once, then A22 -= V W' + W V', as LAPACK's dsytrd does.
bool eigenvalues(std::span<double> matrix, std::size_t n, std::span<double> values) {
  if (n == 0) return true;
  const int spacing = as_int(n);
  std::vector<double> off_diagonal(n), tau(n), panel(n * block);
  double* const a = matrix.data();  // lower triangle in LAPACK's columns, which is our upper one
  std::size_t begin = 0;
  while (n - begin > block) {
    const std::size_t rest = n - begin;
    const std::size_t width = std::min<std::size_t>(32, rows_a_piece(rest * rest));
    const int order = as_int(rest), columns = as_int(width);
    double* const corner = a + begin * n + begin;
    yield_point();
    dlatrd_("L", &order, &columns, corner, &spacing, off_diagonal.data() + begin, tau.data() + begin,
            panel.data(), &order, 1);
    for (std::size_t left = width; left < rest; left += block) {
      yield_point();
      const int across = as_int(std::min(block, rest - left)), down = as_int(rest - left);
      for (const auto& [one, two, one_spacing, two_spacing] :
           {std::tuple{corner + left, panel.data() + left, spacing, order},
            std::tuple{panel.data() + left, corner + left, order, spacing}}) {
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, down, across, columns, -1.0, one, one_spacing,
                    two, two_spacing, 1.0, corner + left * n + left, spacing);
      }
    }
    for (std::size_t i = 0; i < width; ++i) {
      values[begin + i] = corner[i * n + i];
      corner[i * n + i + 1] = off_diagonal[begin + i];
    }
    begin += width;
  }
  yield_point();
  const int order = as_int(n - begin), whole = as_int(n);
  int info = 0;
  dsytd2_("L", &order, a + begin * n + begin, &spacing, values.data() + begin, off_diagonal.data() + begin,
          tau.data() + begin, &info, 1);
  if (info != 0) return false;
  yield_point();
  dsterf_(&whole, values.data(), off_diagonal.data(), &info);
  return info == 0;
}

}  // namespace mixstream::linalg
