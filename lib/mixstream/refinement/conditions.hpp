// The moments that refinement matches: E[y^q phi] for q = 1 .. 5 and instruments phi, observed in the tensor
// and implied by a mixture, and their covariance under a mixture.
//
//   E[y^q | x] = sum_h pi_h sum_j C(q, 2j) (2j-1)!! s2_h^j (beta_h . x)^(q-2j)
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mixstream/mixture.hpp"
#include "mixstream/moments/dense.hpp"
#include "mixstream/moments/tensor.hpp"
#include "mixstream/rows/row_table.hpp"
#include "mixstream/settings.hpp"

namespace mixstream {

inline constexpr int highest_response_power = 5;

/// For every power q of y: the largest degree of the monomials in x that it is multiplied with.
struct ConditionSet {
  std::array<int, highest_response_power> degrees = {3, 3, 3, 2, 1};  ///< the whole order-6 tensor

  int degree(int power) const noexcept { return degrees[static_cast<std::size_t>(power - 1)]; }
  /// "order6", "q<=3", or these with the degrees, such as "order6 degrees 2-2-2-2-1".
  std::string name(int highest_power) const;
  /// How many conditions, for that many variables beside y (the constant included).
  std::size_t count(std::size_t variables) const;
  friend bool operator==(const ConditionSet&, const ConditionSet&) = default;
};

/// The richest set with at most `largest` conditions; the poorest one when none is small enough.
ConditionSet choose_conditions(const Layout& layout, std::size_t largest);

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

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

/// E[y^q | x] of one row for q = 0 .. moments.size() - 1. No throw, no allocation.
void conditional_moments(const Mixture& mixture, std::span<const double> features, std::span<double> moments);

}  // namespace mixstream
