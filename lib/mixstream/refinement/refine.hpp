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

#include "mixstream/core/dense.hpp"
#include "mixstream/core/mixture.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/moments/tensor.hpp"
#include "mixstream/rows/row_table.hpp"
#include "mixstream/verdict/judge.hpp"

namespace mixstream {

/// Laws that the moments lead to, with what the search measured of them.
struct RefinedFit : FitEvidence {
  Mixture mixture;
  NoiseModel noise = NoiseModel::shared;
  DenseMatrix information;              ///< inverse covariance of theta, divided by max(1, J/dof)
  std::vector<double> standard_errors;  ///< of theta (parameters.hpp)

  double start_distance = 0.0;              ///< J where this refinement's last rounds began
  std::optional<double> previous_distance;  ///< of the previous fit, where the same moments were matched
  bool elsewhere = false;                   ///< another start than the previous fit led here

  std::string conditions;           ///< which moments were matched, such as "order6" or "q<=3"
  std::size_t condition_count = 0;  ///< how many, after dependent ones dropped out
  Complaints complaints;            ///< complaints_of(*this), once examined
  bool accepted = false;            ///< examined, and without complaint
  bool likeliest = false;      ///< replaced by the likeliest fit to all rows: the sample still held every one
  bool by_likelihood = false;  ///< replaced by the sample's likeliest: the moments contradict every fit
  int starts_tried = 0;        ///< refinements run until this one was taken
  int iterations = 0;          ///< Levenberg-Marquardt steps of this refinement

  /// Complaints and acceptance of what is measured. No throw.
  void conclude() noexcept {
    complaints = complaints_of(*this);
    accepted = !complaints.any();
  }
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
