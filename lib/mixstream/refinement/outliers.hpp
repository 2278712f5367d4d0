// Which magnitude bins enter a fit. Rows are filed by magnitude, each bin with its own tensor; a thin tail
// bin stays out when the fit is rejected with it and accepted without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/moments/tensor.hpp"
#include "mixstream/refinement/refine.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

/// The moments by magnitude, smallest first, and a sample whose rows know their bin. One layout, one pilot.
struct BinnedMoments {
  std::vector<MomentTensor> bins;
  RowTable sample;
  std::vector<int> sample_bins;  ///< of every row of the sample
};

struct BinSettings {
  double largest_tail_share = 0.02;  ///< of the weight: a tail with more is never set aside
  int likely_bins = 0;  ///< that entered the last fit: tried first where there is a previous fit; 0: unknown
  RefineSettings refine;
};

struct BinnedFit {
  RefinedFit fit;
  int bins_used = 0;                 ///< bins 0 .. bins_used - 1 entered
  std::uint64_t rows_set_aside = 0;  ///< in the bins that did not
  double weight_set_aside = 0.0;
  bool tail_suspected =
      false;  ///< rejected, and very much nearer without the tail: outliers may have ruined it
};

/// The sum of the first `count` bins, and the sample's rows in them.
MomentTensor moments_of_bins(const BinnedMoments& moments, int count);
RowTable sample_of_bins(const BinnedMoments& moments, int count);

/// Refines without the thin tail, then lets in each tail bin with which the fit is still accepted; begins
/// with the likely bins if the previous fit leads to an accepted one of them. Without an accepted fit of the
/// core everything enters. Refuses as refine() does.
Outcome<BinnedFit> refine_with_bins(const BinnedMoments& moments, std::size_t component_count,
                                    std::span<const Mixture> starts, const BinSettings& settings,
                                    const Mixture* previous = nullptr);

}  // namespace mixstream
