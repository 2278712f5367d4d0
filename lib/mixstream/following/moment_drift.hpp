// Drift as the moments see it, from fit to fit: J of the rows since an accepted fit, held against that fit.
//
// The scores of the polish see a change sooner (drift.hpp). This sign needs no polish, and looks at all that
// the moments know: also at what no parameter of the model can follow.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mixstream/core/settings.hpp"
#include "mixstream/following/drift.hpp"
#include "mixstream/moments/tensor.hpp"
#include "mixstream/refinement/refine.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

/// An accepted fit and the moments it was made from, as plain numbers in pilot coordinates.
struct RememberedFit {
  Mixture mixture;
  NoiseModel noise = NoiseModel::shared;
  std::vector<double> information;  ///< P x P
  double expected_ratio = 1.0;
  std::vector<double> sums;     ///< of the tensor
  double effective_rows = 0.0;  ///< likewise
  std::uint64_t rows = 0;       ///< absorbed when it was made
  std::uint32_t bins = 0;       ///< bit b: magnitude bin b entered
  double clock = 0.0;           ///< of a half-life in seconds

  friend bool operator==(const RememberedFit&, const RememberedFit&) = default;
};

/// Keeps the fit with its tensor.
RememberedFit remember(const RefinedFit& fit, const MomentTensor& tensor, std::uint64_t rows,
                       std::uint32_t bins, double clock);

/// The moments of the rows since the fit: `now` less what was then, of which the share `kept` is left. Where
/// that is nothing, effective_rows is zero. Allocates.
MomentTensor since(const RememberedFit& then, const MomentTensor& now, double kept);

/// Judges recent rows by the remembered fit; the sample may be of older rows. An event when they are far off.
/// Allocates; the cost of one weighting.
std::optional<DriftEvent> judge_recent(const MomentTensor& recent, const RowTable& sample,
                                       const RememberedFit& fit, const MomentDriftSettings& settings);

}  // namespace mixstream
