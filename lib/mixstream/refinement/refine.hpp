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

/// Why a fit is not accepted. The signs are needed together: each alone has been seen to be fooled.
struct Complaints {
  bool distance = false;         ///< J is larger than a right fit would show
  bool standard_errors = false;  ///< some law is not determined by the moments
  bool likelihood = false;       ///< another candidate explains the sample of rows far better

  bool noise = false;   ///< noise of each law's own explains the rows far better
  bool count = false;   ///< one law more does
  bool search = false;  ///< with many laws: no other start of EM on the sample came back to it

  bool any() const noexcept { return of_the_fit() || search; }
  bool only_search() const noexcept { return search && !of_the_fit(); }
  std::string text() const;  ///< "J, standard errors"; empty when there are none

 private:
  bool of_the_fit() const noexcept { return distance || standard_errors || likelihood || noise || count; }
};

struct RefinedFit {
  Mixture mixture;
  NoiseModel noise = NoiseModel::shared;
  DenseMatrix information;              ///< inverse covariance of theta, divided by max(1, J/dof)
  std::vector<double> standard_errors;  ///< of theta (parameters.hpp)

  double distance = 0.0;                    ///< J = n |W (observed - implied)|^2
  double start_distance = 0.0;              ///< the same where this refinement's last rounds began
  std::optional<double> previous_distance;  ///< of the previous fit, where the same moments were matched
  bool elsewhere = false;                   ///< another start than the previous fit led here
  std::size_t dof = 0;                      ///< degrees of freedom of J at a right fit
  /// J/dof of a right fit with weights from half the sample (against the other half), at least 1.
  double expected_ratio = 1.0;
  double p_value = 0.0;  ///< of J / usual_ratio() against chi-square(dof)
  double deviance = std::numeric_limits<double>::infinity();  ///< 2 R (best log-likelihood seen - this fit's)

  std::string conditions;           ///< which moments were matched, such as "order6" or "q<=3"
  std::size_t condition_count = 0;  ///< how many, after dependent ones dropped out
  bool lower_order = false;         ///< only those: few rows carry the moments of order six
  Complaints complaints;
  bool accepted = false;   ///< checked, and without complaint
  bool likeliest = false;  ///< replaced by the likeliest fit to all rows: the sample still held every one
  int rivals = 0;          ///< from three laws on: other laws that neither J nor the sample excludes
  int starts_tried = 0;    ///< refinements run until this one was taken
  int iterations = 0;      ///< Levenberg-Marquardt steps of this refinement

  /// J/dof that a right fit shows on average: weights from the whole sample err less than half as much
  /// (0.35 to 0.5, measured from bounded to Gaussian features).
  double usual_ratio() const noexcept { return 1.0 + 0.4 * (expected_ratio - 1.0); }
};

struct RefineSettings {
  NoiseModel noise = NoiseModel::shared;
  int first_starts = 8;          ///< given ones, filled up with random ones
  int more_starts = 12;          ///< random ones, when none of the first is accepted
  int warm_iterations = 100;     ///< of EM on the sample, for every start
  int confirming_starts = 8;     ///< at most, from three laws on, to come back to an accepted fit
  int rival_starts = 6;          ///< at least, from three laws on, to meet its rivals
  int rival_refinements = 6;     ///< at most, from where they end
  bool seek_rivals = false;      ///< of a fit accepted straight from the previous one too
  bool previous_was_met = true;  ///< by another start: otherwise it must be now
  std::size_t warm_rows = 1250;  ///< rows of the sample that EM begins with
  std::size_t largest_condition_count = 750;  ///< poorer sets of conditions are chosen where d is large
  bool fall_back = true;                      ///< to q <= 3 when only J complains: noise may not be Gaussian
  std::uint64_t seed = 1;                     ///< of the random starts
};

/// Refines from the previous fit, when there is one, and takes the result when it is accepted. Otherwise
/// warms all starts by EM on the sample, refines from EM's optima and, with three laws or more, from hardly
/// warmed starts too, and takes the accepted fit of least J; without one it goes on with more starts, and
/// ends with the likeliest of those tried. From three laws on an accepted fit must be met again, and rivals
/// are sought: other laws, apart beyond their errors, that J and the sample accept nearly as well. Tensor and
/// sample in the same coordinates; under NoiseModel::known every start carries the known variances. Refuses
/// when there are fewer conditions than parameters, no rows, or nothing finite to say. Allocates; no state
/// outlives the call.
Outcome<RefinedFit> refine(const MomentTensor& tensor, const RowTable& sample, std::size_t component_count,
                           std::span<const Mixture> starts, const RefineSettings& settings,
                           const Mixture* previous = nullptr);

}  // namespace mixstream
