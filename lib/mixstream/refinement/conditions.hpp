// The moments that refinement matches: E[y^q phi] for q = 1 .. 5 and instruments phi, observed in the tensor
// and implied by a mixture, and their covariance under a mixture.
//
//   E[y^q | x] = sum_h pi_h sum_j C(q, 2j) (2j-1)!! s2_h^j (beta_h . x)^(q-2j)
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "mixstream/core/dense.hpp"
#include "mixstream/core/mixture.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/moments/tensor.hpp"
#include "mixstream/refinement/condition_set.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

/// Which rows of the sample a covariance averages over: first, first + stride, first + 2 stride ...
struct RowChoice {
  std::size_t first = 0;
  std::size_t stride = 1;
};

/// Observed conditions and the linear maps to implied ones. Independent of k and of the noise model, so one
/// serves every start and every candidate k. Immutable after construction.
class Conditions {
 public:
  /// tensor and sample in the same pilot coordinates. Orthonormal instruments: deterministic relations
  /// between features drop out. Throws std::runtime_error when the moments are not finite.
  Conditions(const MomentTensor& tensor, const RowTable& sample, const ConditionSet& set);
  ~Conditions();
  Conditions(Conditions&&) noexcept;
  Conditions& operator=(Conditions&&) noexcept;

  const ConditionSet& set() const noexcept;
  double effective_rows() const noexcept;  ///< n of the tensor
  std::size_t sample_size() const noexcept;
  double even_share() const noexcept;  ///< of the sample's weight, the share on rows 0, 2, 4 ...

  /// The number of conditions with q <= highest_power: they come first.
  std::size_t size(int highest_power = highest_response_power) const noexcept;
  const std::vector<double>& observed() const noexcept;

  /// Implied conditions and their Jacobian in theta (parameters.hpp), both of the full size.
  void implied(const Mixture& mixture, NoiseModel noise, std::vector<double>& values,
               DenseMatrix& jacobian) const;

  /// Covariance of one row's conditions under the mixture, averaged over the chosen x's of the sample:
  /// Cov(y^p f, y^q g | x) = f g (E[y^(p+q) | x] - E[y^p | x] E[y^q | x]). Upper and lower triangle filled.
  DenseMatrix covariance(const Mixture& mixture, RowChoice rows = {}) const;

  /// How well the sample knows these variances: the relative standard error of the one it knows worst, among
  /// q <= highest_power. Large where few rows carry a moment of high order.
  double variance_error(const Mixture& mixture, int highest_power = highest_response_power) const;

  struct Content;  ///< conditions_content.hpp, for this folder

 private:
  std::unique_ptr<Content> content_;
};

}  // namespace mixstream
