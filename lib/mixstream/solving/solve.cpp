#include "mixstream/solving/solve.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <new>
#include <numeric>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/linalg/spectrum.hpp"
#include "mixstream/regression/identifiability.hpp"
#include "mixstream/regression/systems.hpp"
#include "mixstream/solving/task.hpp"

namespace mixstream {
namespace {

using solving::Task;

void describe_stream(Task& task) {
  Report& report = task.report();
  report.rows = task.state.row_count();
  report.effective_rows = task.tensor.effective_rows;
  report.component_count = task.settings.component_count;
  report.features = task.settings.feature_names;
  report.response = task.state.settings().response;
  report.method = task.settings.method;
  report.noise_source = task.settings.noise == NoiseModel::known ? "known" : "estimated";
}

bool enough_rows(Task& task) {
  const std::size_t d = task.feature_count();
  const std::size_t k = std::max<std::size_t>(task.settings.component_count, 1);
  const std::size_t needed = 2 * parameter_count(k, d, task.settings.noise) + 10;
  const double rows = task.report().effective_rows;
  if (rows >= static_cast<double>(needed)) return true;
  task.refuse(
      {Reason::too_few_rows,
       fmt::format("{:.0f} row{} too few for {} law{} of {} feature{}: at least {} are needed.", rows,
                   rows == 1.0 ? " is" : "s are", k, k == 1 ? "" : "s", d, d == 1 ? "" : "s", needed)});
  return false;
}

/// Sigma_1 must be regular for any method: two equal features cannot be told apart.
bool distinct_features(Task& task) {
  if (null_count_of(task.tensor.view(0, 1, 1), rank_cutoff) == 0) return true;
  Report& report = task.report();
  report.identifiability = diagnose(task.tensor, task.last, task.settings.feature_names);
  task.refuse({Reason::not_identifiable, "the features are linearly dependent on every row (" +
                                             describe(report.identifiability.powers[0].dependences) +
                                             "): drop one of them."});
  return false;
}

void run_method(Task& task, SolveDetail detail) {
  switch (task.settings.method) {
    case FitMethod::standard:
      if (!task.follows_modes()) {
        refine_moments(task);
        return detail == SolveDetail::everything ? choose_model(task) : void();
      }
      return follow_modes(task);
    case FitMethod::paper:
      return follow_paper(task);
    case FitMethod::em:
      return run_em(task);
  }
}

/// Nothing that numbers do may end a stream.
void run_guarded(Task& task, SolveDetail detail) {
  try {
    run_method(task, detail);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {  // a factorisation that met numbers it cannot take
    task.solution.mixture.reset();
    task.solution.refined.reset();
    task.report().components.clear();
    task.evidence = {.breakdown = error.what()};
    pass_judgement(task);
  }
}

/// Mean log-likelihood and BIC a row of the sample, in raw units.
void describe_sample_fit(Task& task) {
  const std::vector<double>& weights = task.sample.rows.weights;
  const double mean = mean_log_likelihood(*task.solution.mixture, task.sample.rows);
  const double rows = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto parameters = static_cast<double>(
      parameter_count(task.settings.component_count, task.feature_count(), task.settings.noise));
  task.report().log_likelihood = mean;
  task.report().bic = -2.0 * mean + parameters * std::log(rows) / rows;
}

/// Where the rows chose the number of laws, what the choice went by is told, and no second number beside it.
void describe_chosen(Report& report) {
  for (const Candidate& candidate : report.candidates) {
    if (!candidate.chosen) continue;
    report.log_likelihood = candidate.log_likelihood;
    report.bic = candidate.bic;
  }
}

Solution solved(Task& task, SolveDetail detail) {
  describe_stream(task);
  yield_point();
  if (!enough_rows(task) || !distinct_features(task)) return std::move(task.solution);
  run_guarded(task, detail);
  yield_point();
  if (detail == SolveDetail::fit) return std::move(task.solution);
  if (task.solution.mixture && !task.report().log_likelihood) describe_sample_fit(task);
  describe_chosen(task.report());
  task.report().identifiability = diagnose(
      task.tensor, task.solution.mixture ? &*task.solution.mixture : task.last, task.settings.feature_names);
  return std::move(task.solution);
}

}  // namespace

Solution solve(const MomentState& state, const SolveSettings& settings, const SolveMemory& memory,
               SolveDetail detail) {
  const auto began = std::chrono::steady_clock::now();
  Task task(state, settings, memory);
  Solution solution = solved(task, detail);
  solution.report.solve_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return solution;
}

}  // namespace mixstream
