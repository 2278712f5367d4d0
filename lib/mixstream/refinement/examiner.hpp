// What speaks for and against a refined fit: J, standard errors and the sample's likelihood, measured.
#pragma once

#include <limits>

#include "mixstream/moments/tensor.hpp"
#include "mixstream/refinement/refine.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

/// Examines fits to one tensor and one sample. Remembers the best likelihood it was told of.
class Examiner {
 public:
  Examiner(const MomentTensor& tensor, const RowTable& sample);

  /// A candidate reached this mean log-likelihood on the sample.
  void saw(double mean_log_likelihood) noexcept;

  /// Fills the evidence, and concludes. Deviance of an estimate with covariance C, on R rows with information
  /// I_R, is expected to be the number of parameters + tr(I_R C).
  void examine(RefinedFit& fit) const;

  double sample_rows() const noexcept { return sample_rows_; }  ///< R
  double best_mean_log_likelihood() const noexcept { return best_; }

 private:
  double climbed_deviance(const RefinedFit& fit) const;
  double line_error(const RefinedFit& fit, const DenseMatrix& covariance) const;
  double expected_deviance(const RefinedFit& fit, const DenseMatrix& covariance) const;

  const RowTable& sample_;
  DenseMatrix second_moment_;  // Sigma_1
  double response_size_;       // sqrt(E y^2)
  double sample_rows_ = 0.0;
  double best_ = -std::numeric_limits<double>::infinity();
};

}  // namespace mixstream
