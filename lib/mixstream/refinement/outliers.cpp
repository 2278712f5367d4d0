#include "mixstream/refinement/outliers.hpp"

#include "mixstream/verdict/limits.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace mixstream {
namespace {

/// The least number of bins that leaves out no more than the allowed share of the weight.
int core_bins(const BinnedMoments& moments, double largest_tail_share) {
  double total = 0.0;
  for (const MomentTensor& bin : moments.bins) total += bin.total_weight();
  double outside = 0.0;
  int count = static_cast<int>(moments.bins.size());
  while (count > 1) {
    outside += moments.bins[static_cast<std::size_t>(count) - 1].total_weight();
    if (outside > largest_tail_share * total) break;
    --count;
  }
  return count;
}

/// The number of bins up to the last one that holds rows, at least one.
int filled_bins(const BinnedMoments& moments) {
  int count = static_cast<int>(moments.bins.size());
  while (count > 1 && !(moments.bins[static_cast<std::size_t>(count) - 1].total_weight() > 0.0)) --count;
  return count;
}

Outcome<RefinedFit> refine_bins(const BinnedMoments& moments, int count, std::size_t component_count,
                                std::span<const Mixture> starts, const RefineSettings& settings,
                                const Mixture* previous) {
  return refine(moments_of_bins(moments, count), sample_of_bins(moments, count), component_count, starts,
                settings, previous);
}

BinnedFit with_counts(const BinnedMoments& moments, int used, RefinedFit fit) {
  BinnedFit result{.fit = std::move(fit), .bins_used = used};
  for (std::size_t b = static_cast<std::size_t>(used); b < moments.bins.size(); ++b) {
    result.rows_set_aside += moments.bins[b].row_count;
    result.weight_set_aside += moments.bins[b].total_weight();
  }
  return result;
}

/// Lets in one bin after the other behind those of an accepted fit, while the fit stays accepted.
BinnedFit with_further_bins(const BinnedMoments& moments, int used, int all, std::size_t component_count,
                            RefineSettings again, RefinedFit fit) {
  again.fall_back = again.fall_back && (fit.cubic || fit.lower_order);
  again.seek_rivals = false;
  again.previous_was_met = true;
  for (int count = used + 1; count <= all; ++count) {
    auto wider = refine_bins(moments, count, component_count, {}, again, &fit.mixture);
    if (!wider || !wider.value().accepted) break;
    const int rivals = fit.rivals;  // sought before
    fit = std::move(wider).value();
    fit.rivals = rivals;
    used = count;
  }
  return with_counts(moments, used, std::move(fit));
}

double ratio(const RefinedFit& fit) {
  return fit.dof > 0 ? fit.distance / static_cast<double>(fit.dof) : 0.0;
}

}  // namespace

MomentTensor moments_of_bins(const BinnedMoments& moments, int count) {
  MomentTensor sum = moments.bins.front();
  double squared_weights = 0.0;  // sum w^2 = (sum w)^2 / effective rows
  sum.row_count = 0;
  std::ranges::fill(sum.sums(), 0.0);
  for (int b = 0; b < count; ++b) {
    const MomentTensor& bin = moments.bins[static_cast<std::size_t>(b)];
    if (bin.layout() != sum.layout() || bin.pilot() != sum.pilot()) {
      throw std::invalid_argument("bins of one stream share layout and pilot");
    }
    for (std::size_t i = 0; i < sum.sums().size(); ++i) sum.sums()[i] += bin.sums()[i];
    sum.row_count += bin.row_count;
    if (bin.effective_rows > 0.0)
      squared_weights += bin.total_weight() * bin.total_weight() / bin.effective_rows;
  }
  sum.effective_rows =
      squared_weights > 0.0 ? sum.total_weight() * sum.total_weight() / squared_weights : 0.0;
  return sum;
}

RowTable sample_of_bins(const BinnedMoments& moments, int count) {
  RowTable rows{moments.sample.feature_count, {}, {}, {}};
  for (std::size_t i = 0; i < moments.sample.size(); ++i) {
    if (moments.sample_bins[i] < count) rows.add(moments.sample.row(i));
  }
  return rows;
}

Outcome<BinnedFit> refine_with_bins(const BinnedMoments& moments, std::size_t component_count,
                                    std::span<const Mixture> starts, const BinSettings& settings,
                                    const Mixture* previous) {
  if (moments.bins.empty() || moments.sample_bins.size() != moments.sample.size()) {
    return Refusal{Reason::wrong_shape, "every row of the sample needs its magnitude bin"};
  }
  const int all = filled_bins(moments);
  const int core = std::min(core_bins(moments, settings.largest_tail_share), all);
  RefineSettings again = settings.refine;  // only from a fit there is: one refinement a bin
  again.first_starts = again.more_starts = 0;
  const int likely = std::min(settings.likely_bins, all);
  if (previous != nullptr && likely > core) {
    RefineSettings straight = again;
    straight.fall_back = false;
    auto found = refine_bins(moments, likely, component_count, {}, straight, previous);
    if (found && found.value().accepted)
      return with_further_bins(moments, likely, all, component_count, again, std::move(found).value());
  }
  auto found = refine_bins(moments, core, component_count, starts, settings.refine, previous);
  if (!found && core == all) return found.refusal();
  if (core == all) return with_counts(moments, all, std::move(found).value());
  if (!found || !found.value().accepted) {
    auto whole = refine_bins(moments, all, component_count, starts, settings.refine, previous);
    if (!whole)
      return found ? Outcome<BinnedFit>(with_counts(moments, core, std::move(found).value()))
                   : whole.refusal();
    BinnedFit result = with_counts(moments, all, std::move(whole).value());
    result.tail_suspected =
        !result.fit.accepted && found && ratio(result.fit) > limits::suspicious_factor * ratio(found.value());
    return result;
  }
  return with_further_bins(moments, core, all, component_count, again, std::move(found).value());
}

}  // namespace mixstream
