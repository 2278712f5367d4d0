// Whether a refined fit deserves trust: J, standard errors and the sample's likelihood together.
#pragma once

#include <limits>

#include "mixstream/moments/tensor.hpp"
#include "mixstream/refinement/refine.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

/// The largest J of a right fit with so many degrees of freedom: one in 100,000 lies above. No allocation.
double largest_distance(double dof);

/// Judges fits to one tensor and one sample. Remembers the best likelihood it was told of.
class Judge {
 public:
  Judge(const MomentTensor& tensor, const RowTable& sample);

  /// A candidate reached this mean log-likelihood on the sample.
  void saw(double mean_log_likelihood) noexcept;

  /// Fills deviance, complaints and accepted. J is compared with chi-square, stretched by what weights from
  /// half the sample would do to it. Deviance of an estimate with covariance C, on R rows with
  /// information I_R, is expected to be the number of parameters + tr(I_R C).
  void judge(RefinedFit& fit) const;

  double sample_rows() const noexcept { return sample_rows_; }  ///< R
  double best_mean_log_likelihood() const noexcept { return best_; }

 private:
  bool climbs_to_best(const RefinedFit& fit) const;
  double expected_deviance(const RefinedFit& fit, const DenseMatrix& covariance) const;

  const RowTable& sample_;
  DenseMatrix second_moment_;  // Sigma_1
  double response_size_;       // sqrt(E y^2)
  double sample_rows_ = 0.0;
  double best_ = -std::numeric_limits<double>::infinity();
};

}  // namespace mixstream
