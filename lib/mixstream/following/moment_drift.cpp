#include "mixstream/following/moment_drift.hpp"

#include <algorithm>

#include "mixstream/following/pane_distance.hpp"
#include "mixstream/likelihood/parameters.hpp"

namespace mixstream {
namespace {

/// sum w g^2 = (sum w g)^2 / effective rows
double squared_weights(double total_weight, double effective_rows) {
  return effective_rows > 0.0 ? total_weight * total_weight / effective_rows : 0.0;
}

}  // namespace

RememberedFit remember(const RefinedFit& fit, const MomentTensor& tensor, std::uint64_t rows,
                       std::uint32_t bins, double clock) {
  RememberedFit then;
  then.mixture = fit.mixture;
  then.noise = fit.noise;
  then.information = fit.information.values;
  then.expected_ratio = fit.expected_ratio;
  then.sums = tensor.sums();
  then.effective_rows = tensor.effective_rows;
  then.rows = rows;
  then.bins = bins;
  then.clock = clock;
  return then;
}

MomentTensor since(const RememberedFit& then, const MomentTensor& now, double kept) {
  MomentTensor recent = now;
  for (std::size_t i = 0; i < recent.sums().size(); ++i) recent.sums()[i] -= kept * then.sums[i];
  const double weight = recent.total_weight();
  const double squares = squared_weights(now.total_weight(), now.effective_rows) -
                         kept * kept * squared_weights(then.sums.front(), then.effective_rows);
  recent.effective_rows = weight > 0.0 && squares > 0.0 ? weight * weight / squares : 0.0;
  return recent;
}

std::optional<DriftEvent> judge_recent(const MomentTensor& recent, const RowTable& sample,
                                       const RememberedFit& fit, const MomentDriftSettings& settings) {
  if (!(fit.expected_ratio < settings.largest_expected_ratio)) return {};
  RefinedFit held;
  held.mixture = fit.mixture;
  held.noise = fit.noise;
  const std::size_t size =
      parameter_count(fit.mixture.component_count(), fit.mixture.feature_count, fit.noise);
  held.information = {size, size, fit.information};
  held.expected_ratio = fit.expected_ratio;
  const Outcome<PaneDistance> found = pane_distance(recent, sample, held);
  if (!found || !(found.value().deviations > settings.limit)) return {};
  return DriftEvent{0, DriftSign::moments, found.value().deviations, 0.0};
}

}  // namespace mixstream
