// Other ways to the same moments, for comparison.
#pragma once

#include <cstddef>
#include <vector>

namespace bench {

/// Rows of m variables, row-major, first variable 1.
struct Rows {
  std::size_t variables = 0;
  std::vector<double> values;

  std::size_t size() const { return values.size() / variables; }
  const double* row(std::size_t r) const { return values.data() + r * variables; }
};

/// The usual way: features cvec(z^(3)) of blocks of rows, and dsyrk for their covariance. The square-root
/// multiplicities are left for the end, once for all rows: no work here.
class DsyrkMoments {
 public:
  explicit DsyrkMoments(std::size_t variables);
  void absorb(const Rows& rows, std::size_t count);
  std::size_t feature_count() const { return features_; }

 private:
  void build_features(const Rows& rows, std::size_t first, std::size_t count);

  std::size_t variables_;
  std::size_t features_;
  std::vector<double> block_;       // a feature a row
  std::vector<double> covariance_;  // upper triangle
};

/// The obvious way: for each row, every product of degree 6 by nested running products.
class LoopMoments {
 public:
  explicit LoopMoments(std::size_t variables);
  void absorb(const Rows& rows, std::size_t count);

 private:
  std::size_t variables_;
  std::vector<double> sums_;
};

}  // namespace bench
