// What could be missing in the model: looked for on the rows that are held, at the laws that are shown.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "mixstream/doubts/look.hpp"
#include "mixstream/refinement/examiner.hpp"
#include "mixstream/report/doubt_context.hpp"
#include "mixstream/solving/task.hpp"
#include "mixstream/verdict/limits.hpp"

namespace mixstream::solving {
namespace {

/// Of the laws or of what they predict.
double larger_shift(const Doubt& doubt) noexcept {
  return std::max(doubt.shift, doubt.prediction);
}

/// The largest shift that the held rows leave open: its size and three errors, sqrt(T) errors away from none.
/// Of a further law: that of the likeliest laws with one more.
double bound_of(const Doubt& doubt) noexcept {
  const double shift = larger_shift(doubt);
  if (doubt.kind == DoubtKind::too_few_laws) return shift;
  return shift * (1.0 + limits::excluded_errors / std::sqrt(std::max(doubt.statistic, 0.01)));
}

/// Whether a doubt bears on how far the laws may be trusted. Rounding is a fact about the sensor, and a count
/// of laws that is wrong has rules of its own.
bool is_about_laws(const Doubt& doubt) noexcept {
  return doubt.kind != DoubtKind::rounding && doubt.kind != DoubtKind::too_many_laws &&
         !(doubt.kind == DoubtKind::too_few_laws && doubt.raised);
}

double weight_of(const RowTable& rows) noexcept {
  return std::accumulate(rows.weights.begin(), rows.weights.end(), 0.0);
}

/// What the sample counts for, less the rows that the fit leaves out.
double rows_that_entered(const Task& task) noexcept {
  const double all = weight_of(task.sample.rows);
  return all > 0.0 ? rows_of_sample(task.tensor, task.sample.rows) * weight_of(task.solution.sample) / all
                   : 0.0;
}

}  // namespace

void look_for_doubts(Task& task) {
  if (!task.solution.model || task.report().components.empty()) return;
  const ModeDriver* modes = task.modes();
  DoubtRows rows;
  rows.sample = &task.solution.sample;
  rows.runs = modes != nullptr && modes->runs().size() > 0 ? &modes->runs() : nullptr;
  rows.rows = task.state.row_count();
  rows.effective_rows = task.tensor.effective_rows;
  rows.sample_rows = rows_that_entered(task);
  rows.layout = &task.layout;
  rows.pilot = &task.tensor.pilot();
  rows.features = task.settings.feature_names;
  Report& report = task.report();
  const auto began = std::chrono::steady_clock::now();
  report.doubts = mixstream::look_for_doubts(*task.solution.model, task.solution.shape, rows);
  report.look_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  ++report.looks;
  if (task.solution.doubts.empty()) task.solution.doubts = report.doubts;
  const DoubtContext context = context_of(report);
  task.evidence.doubts_sought = true;
  for (const Doubt& doubt : report.doubts) {
    if (doubt.raised && doubt.kind == DoubtKind::too_many_laws) task.evidence.laws_coincide = true;
    if (doubt.raised && doubt.kind == DoubtKind::too_few_laws) task.evidence.law_missing = true;
    if (!is_about_laws(doubt)) continue;
    std::string sentence;
    if (doubt.raised)
      sentence =
          fmt::format("{}. To mend it: {}.", doubt_sentence(doubt, context), doubt_remedy(doubt, context));
    task.evidence.doubts.push_back(
        {larger_shift(doubt), bound_of(doubt), doubt.raised, std::move(sentence), doubt.prediction});
  }
}

}  // namespace mixstream::solving
