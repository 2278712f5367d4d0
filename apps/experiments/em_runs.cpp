#include "experiments/em_runs.hpp"

#include <algorithm>

#include "mixstream/likelihood/matching.hpp"

namespace experiments {
namespace {

constexpr int largest_iterations = 1000;    // as the paper
constexpr std::size_t first_count = 20000;  // rows
constexpr std::size_t more_count = 500000;  // likewise
constexpr double same_within = 0.01;        // |B - B'|_F of two fits to the first rows

RowTable first_rows(const RowTable& rows, std::size_t count) {
  RowTable first{rows.feature_count, {}, {}, {}};
  for (std::size_t i = 0; i < std::min(count, rows.size()); ++i) first.add(rows.row(i));
  return first;
}

}  // namespace

EmRuns::EmRuns(const RowTable& rows, NoiseModel noise, bool extrapolated)
    : few_(first_rows(rows, first_count)),
      all_(rows),
      settings_{.noise = noise, .max_iterations = largest_iterations, .extrapolated = extrapolated} {
  if (rows.size() > more_count) more_.emplace(first_rows(rows, more_count));
}

EmFit EmRuns::on_first(const Mixture& start) const {
  return fit_em(few_, start, settings_);
}

EmFit EmRuns::on_all(const EmFit& settled) const {
  return gone_on(all_, more_ ? gone_on(*more_, settled) : settled);
}

EmFit EmRuns::gone_on(const RowBlocks& rows, const EmFit& settled) const {
  EmSettings rest = settings_;
  rest.max_iterations = std::max(1, largest_iterations - settled.iterations);
  EmFit fit = fit_em(rows, settled.mixture, rest);
  fit.iterations += settled.iterations;
  return fit;
}

EmFit EmRuns::from_truth(const Mixture& truth) const {
  return fit_em(all_, truth, settings_);
}

EmFit SharedEmRuns::from(const Mixture& start) {
  const EmFit first = runs_.on_first(start);
  for (const Settled& before : settled_) {
    if (first.converged && coefficient_error(before.on_first.mixture, first.mixture) < same_within)
      return before.on_all;
  }
  const EmFit fit = runs_.on_all(first);
  if (first.converged) settled_.push_back({first, fit});
  return fit;
}

}  // namespace experiments
