#include "rivals.hpp"

#include <cblas.h>

#include <algorithm>

#include "measure.hpp"

namespace bench {
namespace {

constexpr std::size_t block_rows = 256;  // the best of 64 to 1024 for dsyrk, to a few percent

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void multiply_columns(const double* a, const double* b, double* out) {
  for (std::size_t row = 0; row < block_rows; ++row) out[row] = a[row] * b[row];
}

}  // namespace

DsyrkMoments::DsyrkMoments(std::size_t variables)
    : variables_(variables), features_(variables * (variables + 1) * (variables + 2) / 6) {
  openblas_set_num_threads(1);
  block_.resize((features_ + variables_ + 1) * block_rows);
  covariance_.resize(features_ * features_);
}

void DsyrkMoments::build_features(const Rows& rows, std::size_t first, std::size_t count) {
  double* variable = block_.data() + features_ * block_rows;
  double* pair = variable + variables_ * block_rows;
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t i = 0; i < variables_; ++i) variable[i * block_rows + r] = rows.row(first + r)[i];
  }
  double* out = block_.data();
  for (std::size_t i = 0; i < variables_; ++i) {
    for (std::size_t j = i; j < variables_; ++j) {
      multiply_columns(variable + i * block_rows, variable + j * block_rows, pair);
      for (std::size_t k = j; k < variables_; ++k, out += block_rows) {
        multiply_columns(pair, variable + k * block_rows, out);
      }
    }
  }
}

void DsyrkMoments::absorb(const Rows& rows, std::size_t count) {
  const auto n = static_cast<int>(features_);
  for (std::size_t first = 0; first < count; first += block_rows) {
    const std::size_t taken = std::min(block_rows, count - first);
    build_features(rows, first, taken);
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, n, static_cast<int>(taken), 1.0, block_.data(),
                static_cast<int>(block_rows), 1.0, covariance_.data(), n);
  }
  keep(covariance_.data());
}

LoopMoments::LoopMoments(std::size_t variables) : variables_(variables) {
  std::size_t count = 1;
  for (std::size_t step = 1; step <= 6; ++step) count = count * (variables - 1 + step) / step;
  sums_.resize(count);
}

void LoopMoments::absorb(const Rows& rows, std::size_t count) {
  const std::size_t m = variables_;
  for (std::size_t r = 0; r < count; ++r) {
    const double* z = rows.row(r);
    double* sum = sums_.data();
    for (std::size_t a = 0; a < m; ++a) {
      for (std::size_t b = a; b < m; ++b) {
        for (std::size_t c = b; c < m; ++c) {
          const double abc = z[a] * z[b] * z[c];
          for (std::size_t d = c; d < m; ++d) {
            for (std::size_t e = d; e < m; ++e) {
              const double abcde = abc * z[d] * z[e];
              for (std::size_t f = e; f < m; ++f) *sum++ += abcde * z[f];
            }
          }
        }
      }
    }
  }
  keep(sums_.data());
}

}  // namespace bench
