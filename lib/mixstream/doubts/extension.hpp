// The scores of extensions: columns of numbers, one a row, zero in the mean when the model is right; and
// looks, each a few of these columns or sums of them.
//
//   missing term   influence_h t(x), for each law h; t orthogonal to the features
//   gate           (r_h - p_h) w(x), h < k
//   noise          spread_h, h < k; sum_h spread_h v(x); clipped He3 / 6 and He4 / 4 of the residual
//   persistence    sum_h r_h r'_h / p_h - 1, r' of the row before
//   memory         centre centre'
//   delay          influence_h x'_j, x' of the row before; and influence'_h x_j
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "mixstream/doubts/doubt.hpp"
#include "mixstream/doubts/held.hpp"
#include "mixstream/doubts/sight.hpp"

namespace mixstream {

/// One test. Its scores are sums of columns.
struct Look {
  Doubt doubt;                                 ///< kind, term, law
  std::vector<std::vector<std::size_t>> sums;  ///< a dimension: the columns that add up to it
  double unit = 1.0;                           ///< a step times this is the size
  std::size_t family = 0;         ///< looks of one family are one doubt, told by the best of them
  bool is_term = false;           ///< its steps are coefficients of a term: part of what a law says
  std::vector<std::size_t> laws;  ///< is_term: the law of each dimension; k: every law
};

/// Which scores are taken.
enum class Concern : std::uint8_t {
  rows,   ///< what each row says by itself
  order,  ///< what a row says about the one before
};

class Extension {
 public:
  /// Looks of one concern at a model of this shape. Allocates.
  Extension(const ModeShape& shape, const HeldDesign& design, const RawUnits& units, Concern concern);

  std::size_t columns() const noexcept { return columns_; }
  const std::vector<Look>& looks() const noexcept { return looks_; }
  std::size_t families() const noexcept { return families_; }

  /// The scores of row t of the design, columns() numbers. No throw, no allocation.
  void score(const Sight& sight, const RowBefore& before, std::size_t t,
             std::span<double> into) const noexcept;

 private:
  void add_terms(const RawUnits& units);
  void add_gates();
  void add_noise();
  void add_order();
  void add_delay(double lag);
  std::size_t take(std::size_t count) noexcept { return std::exchange(columns_, columns_ + count); }
  Look& add_look(DoubtKind kind, std::size_t family);
  void score_rows(const Sight& sight, std::size_t t, double*& into) const noexcept;
  double persistence_score(const Sight& sight, const RowBefore& before) const noexcept;
  void score_order(const Sight& sight, const RowBefore& before, std::size_t t, double*& into) const noexcept;

  ModeShape shape_;
  const HeldDesign& design_;
  Concern concern_;
  std::size_t k_;
  std::vector<std::size_t> moving_;  // features that are not constant
  std::vector<Look> looks_;
  std::size_t columns_ = 0;
  std::size_t families_ = 0;
};

}  // namespace mixstream
