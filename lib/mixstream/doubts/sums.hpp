// Sums of scores, and the tests that are read from them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "mixstream/core/dense.hpp"
#include "mixstream/doubts/extension.hpp"
#include "mixstream/doubts/held.hpp"
#include "mixstream/doubts/sight.hpp"

namespace mixstream {

/// Sums over rows of (s, m), of its products, and over stretches of consecutive rows.
struct DoubtSums {
  std::size_t parameters = 0;  ///< P; the extension's columns follow
  double rows = 0.0;           ///< behind it, by their weights
  DenseMatrix second;          ///< sum w (s, m)(s, m)'
  std::vector<double> first;   ///< sum w (s, m)
  DenseMatrix batches;         ///< a stretch a row
  double log_likelihood = 0.0;
};

/// Sees every row of the design at the model. `watch`: called with each sight before it is remembered, may be
/// empty. Allocates; (P + M)^2 products a row.
using Watch = std::function<void(const Sight&, const RowBefore&, std::size_t)>;
DoubtSums sums_of(const ModeModel& model, const ModeShape& shape, const HeldDesign& design,
                  const Extension& extension, const Watch& watch = {});

/// What one look found.
struct LookResult {
  double statistic = 0.0;
  std::size_t dof = 0;  ///< 0: the rows cannot tell
  double p = 1.0;
  double batch_p = 1.0;      ///< by the sums over stretches
  std::vector<double> step;  ///< the extension, a number a dimension
  std::vector<double> move;  ///< of the model's parameters
};

/// Scores projected off the model's, and off extensions that were taken.
class Projection {
 public:
  /// Allocates; P^3 + P M^2 products.
  explicit Projection(const DoubtSums& sums);

  /// Allocates; products in the cube of the look's dimension and P M a dimension.
  LookResult test(const Look& look) const;
  /// From now on every test is adjusted for this look. Allocates; M^2 products a dimension.
  void take(const Look& look);
  /// (H^-1)_qq of a parameter, of the held rows.
  double variance(std::size_t parameter) const noexcept { return inverse_(parameter, parameter); }
  const DenseMatrix& covariance() const noexcept { return inverse_; }
  /// Log-likelihood that the model itself would gain on the held rows, by one step: g' H^-1 g / 2.
  double own_gain() const noexcept { return own_gain_; }

 private:
  std::vector<double> combined(const Look& look, std::size_t dimension, const DenseMatrix& rows) const;
  DenseMatrix form(const Look& look) const;  // A V A'
  double batch_p(const Look& look, const DenseMatrix& root) const;

  std::size_t parameters_;
  std::size_t columns_;
  double own_gain_ = 0.0;
  DenseMatrix inverse_;        // H^-1
  DenseMatrix slopes_;         // (H^-1 C')', columns x P
  DenseMatrix rest_;           // V
  std::vector<double> scale_;  // square roots of the diagonal of M
  std::vector<double> sums_;   // b
  DenseMatrix batches_;        // of m - C H^-1 s
};

/// P(chi-square with so many degrees of freedom > statistic); P(F > statistic). No throw.
double chi_square_p(double statistic, double dof) noexcept;
double f_p(double statistic, double dof, double other) noexcept;

}  // namespace mixstream
