// What speaks for and against a refined fit: J, standard errors and the sample's likelihood, measured.
#pragma once

#include "mixstream/moments/tensor.hpp"
#include "mixstream/refinement/refine.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

/// How many rows the sample counts for: while it is the stream itself as many as the stream, a weight of 2
/// being two rows; else as many as rows of equal weight that say as much, (sum w)^2 / sum w^2, for the
/// weights of rows that were drawn undo how they were drawn. No throw.
double rows_of_sample(const MomentTensor& tensor, const RowTable& sample) noexcept;

/// Examines fits to one tensor and one sample, to which it keeps a reference.
class Examiner {
 public:
  Examiner(const MomentTensor& tensor, const RowTable& sample);

  /// The fit with its evidence, concluded; `likeliest` is the best mean log-likelihood that any candidate has
  /// reached on the sample. Deviance of an estimate with covariance C, on R rows with information I_R, is
  /// expected to be the number of parameters + tr(I_R C). Allocates; cost R k d, more where it is in doubt.
  RefinedFit examined(RefinedFit fit, double likeliest) const;

  double sample_rows() const noexcept { return sample_rows_; }  ///< R

 private:
  double climbed_deviance(const RefinedFit& fit, double likeliest) const;
  double line_error(const RefinedFit& fit, const DenseMatrix& covariance) const;
  double expected_deviance(const RefinedFit& fit, const DenseMatrix& covariance) const;

  const RowTable& sample_;
  DenseMatrix second_moment_;  // Sigma_1
  double response_size_;       // sqrt(E y^2)
  double sample_rows_ = 0.0;
};

}  // namespace mixstream
