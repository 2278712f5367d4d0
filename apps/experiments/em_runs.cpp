#include "experiments/em_runs.hpp"

#include <algorithm>

namespace experiments {
namespace {

constexpr int largest_iterations = 1000;    // as the paper
constexpr std::size_t first_count = 20000;  // rows

RowTable first_rows(const RowTable& rows) {
  RowTable first{rows.feature_count, {}, {}, {}};
  for (std::size_t i = 0; i < std::min(first_count, rows.size()); ++i) first.add(rows.row(i));
  return first;
}

}  // namespace

EmRuns::EmRuns(const RowTable& rows, NoiseModel noise)
    : few_(first_rows(rows)), all_(rows), settings_{.noise = noise, .max_iterations = largest_iterations} {}

EmFit EmRuns::from(const Mixture& start) const {
  const EmFit first = fit_em(few_, start, settings_);
  EmSettings rest = settings_;
  rest.max_iterations = std::max(1, largest_iterations - first.iterations);
  EmFit fit = fit_em(all_, first.mixture, rest);
  fit.iterations += first.iterations;
  return fit;
}

EmFit EmRuns::from_truth(const Mixture& truth) const {
  return fit_em(all_, truth, settings_);
}

}  // namespace experiments
