// Moment refinement: from starts to the mixture whose implied moments lie nearest to the observed ones, and
// an honest verdict on it. Sees the moment tensor and a sample of rows, never the stream.
//
// Everything here is in the tensor's pilot coordinates; standard_errors.hpp leads back to raw ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mixstream/mixture.hpp"
#include "mixstream/moments/dense.hpp"
#include "mixstream/moments/tensor.hpp"
#include "mixstream/outcome.hpp"
#include "mixstream/rows/row_table.hpp"
#include "mixstream/settings.hpp"

namespace mixstream {

/// Why a fit is not accepted. Three signs are needed together: each alone has been seen to be fooled.
struct Complaints {
  bool distance = false;         ///< J is larger than a right fit would show
  bool standard_errors = false;  ///< some law is not determined by the moments
  bool likelihood = false;       ///< another candidate explains the sample of rows far better

  bool any() const noexcept { return distance || standard_errors || likelihood; }
  std::string text() const;  ///< "J, standard errors"; empty when there are none
};

struct RefinedFit {
  Mixture mixture;
  NoiseModel noise = NoiseModel::shared;
  DenseMatrix information;              ///< inverse covariance of theta, divided by max(1, J/dof)
  std::vector<double> standard_errors;  ///< of theta (parameters.hpp)

  double distance = 0.0;        ///< J = n |W (observed - implied)|^2
  std::size_t dof = 0;          ///< degrees of freedom of J at a right fit
  double expected_ratio = 1.0;  ///< J/dof that a right fit shows with weights from this sample, at least 1
  double p_value = 0.0;         ///< of J / expected_ratio against chi-square(dof)
  double deviance = std::numeric_limits<double>::infinity();  ///< 2 R (best log-likelihood seen - this fit's)

  std::string conditions;           ///< which moments were matched, such as "order6" or "q<=3"
  std::size_t condition_count = 0;  ///< how many, after dependent ones dropped out
  Complaints complaints;
  bool accepted = false;  ///< checked, and without complaint
  int starts_tried = 0;   ///< refinements run until this one was taken
  int iterations = 0;     ///< Levenberg-Marquardt steps of this refinement
};

}  // namespace mixstream
