// Rows in order and other noise: the moments and EM on the sample say where to begin, the polish what is so.
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "mixstream/solving/solve_modes.hpp"
#include "mixstream/solving/task.hpp"

namespace mixstream::solving {
namespace {

std::optional<Mixture> previous_laws(const Task& task, const ModeDriver* modes) {
  std::optional<Mixture> previous;
  if (modes != nullptr && modes->polish() != nullptr)
    previous = modes->polish()->fit().model.laws;
  else if (task.last != nullptr && task.last->component_count() == task.settings.component_count)
    previous = task.in_pilot(*task.last);
  if (previous && !is_finite(*previous)) previous.reset();
  return previous;
}

void describe_trace(const ModeDriver& modes, ModesReport& report) {
  if (modes.trace() == nullptr) return;
  const ModeTraceState& trace = modes.trace()->state();
  const std::size_t k = modes.trace()->component_count();
  const auto strip_end = trace.shares.begin() + static_cast<std::ptrdiff_t>(trace.stretches * k);
  report.strip = {trace.stretches, k, {trace.shares.begin(), strip_end}};
  report.stays = {k, ModeTrace::most_lengths, {trace.stays.begin(), trace.stays.end()}};
  report.last = modes.trace()->last_of(modes.chains().newest());
}

void describe_chains(Task& task, const ModeDriver& modes, const ModePolish& polish) {
  if (!task.report().modes || modes.chains().size() == 0) return;
  ModesReport& report = *task.report().modes;
  const auto now = polish.modes_of(modes.chains().newest());
  report.now.assign(now.begin(), now.end());
  const ChainState& chains = modes.chains().state();
  report.chains_cut = chains.all_cuts();
  if (polish.shape().component_count == modes.settings().shape.component_count) describe_trace(modes, report);
}

/// Mean log-likelihood and BIC a row, in raw units.
void describe_likelihood(Task& task, const ModePolish& polish, double rows) {
  const double scale = task.tensor.pilot().scale.back();
  const double mean = polish.weight() > 0.0 ? polish.log_likelihood() / polish.weight() : 0.0;
  const double counted = std::max(rows, 1.0);
  task.report().log_likelihood = mean - std::log(scale);
  task.report().bic = -2.0 * *task.report().log_likelihood +
                      static_cast<double>(polish.shape().parameters()) * std::log(counted) / counted;
}

/// What a polish says, with errors as wide as its batches scatter; leaves as evidence how much that is, and
/// whether its laws are too many.
ModeFit weighed_fit(Task& task, const ModePolish& polish, bool too_many_laws) {
  const double tolerance = task.settings.tolerance;
  task.evidence = {.tolerance = tolerance, .refused_share = task.evidence.refused_share};
  ModeFit fit = polish.fit();
  const ModeShape& shape = polish.shape();
  task.evidence.dispersion = fit.dispersion;
  task.evidence.largest_dispersion = largest_dispersion(fit);
  if (fit.dispersion > task.evidence.largest_dispersion) {
    for (double& value : fit.covariance.values) value *= fit.dispersion;
  }
  task.evidence.laws_coincide = too_many_laws || std::ranges::any_of(fit.visits, [&](double visits) {
                                  return visits < static_cast<double>(shape.feature_count + 1);
                                });
  task.evidence.noise_remembers = shape.noise_shape.memory;
  if (shape.modes == Modes::persistent && shape.component_count > 1) task.evidence.changes = fit.changes;
  return fit;
}

/// Tells it, decides nothing.
void report_fit(Task& task, const ModeDriver& modes, const ModePolish& polish, const ModeFit& fit) {
  const ModeShape& shape = polish.shape();
  task.report().moment_test.reset();
  const ModeAnswer answer = answer_of(fit, shape, task.solution.sample);
  if (!is_finite(answer.mixture)) throw std::runtime_error("the polish is not finite");
  const MixtureErrors errors =
      raw_mixture_errors(answer.mixture, shape.noise, answer.covariance, task.layout, task.tensor.pilot());
  task.report().stage = FitStage::polished;
  std::vector<std::size_t> order(shape.component_count);
  std::iota(order.begin(), order.end(), std::size_t{0});  // the polish keeps its labels
  take(task, task.in_raw(answer.mixture), &errors, order);
  describe_modes(fit, shape, order, task.layout, task.tensor.pilot(), task.report());
  describe_chains(task, modes, polish);
  describe_likelihood(task, polish, fit.rows);
  task.solution.shape = shape;
  task.solution.model = fit.model;
}

/// The polish is the answer.
void show(Task& task, const ModeDriver& modes, const ModePolish& polish, bool too_many_laws) {
  report_fit(task, modes, polish, weighed_fit(task, polish, too_many_laws));
  conclude(task);
}

/// The model of least BIC on the held rows among the one shown and those that its doubts call for.
std::optional<ModeDriver::Candidate> better_model(Task& task, const ModeDriver& modes) {
  const auto& [laws, sample] = std::tie(task.solution.laws, task.solution.sample);
  const std::uint64_t rows = task.state.row_count();
  const std::vector<ModelExtension> larger =
      extensions_of(task.solution.shape, task.report().doubts, modes.settings().choice, task.layout);
  if (larger.empty()) return {};
  const auto now = modes.candidate(task.solution.shape, laws, sample, rows);
  std::optional<ModeDriver::Candidate> best;
  for (const ModelExtension& extension : larger) {
    auto candidate = modes.candidate(extension.shape, laws, sample, rows);
    if (!now || !candidate || candidate->bic > now->bic - limits::beyond_doubt) continue;
    if (!best || candidate->bic < best->bic) best = std::move(candidate);
  }
  return best;
}

}  // namespace

void choose_model(Task& task) {
  const ModeDriver* modes = task.modes();
  if (modes == nullptr || !modes->settings().choice.any() || task.report().components.empty()) return;
  std::optional<Mixture> labels;
  if (task.last != nullptr) labels = task.in_pilot(*task.last);
  constexpr int most_steps = 3;  // modes, variances, tails or memory
  for (int step = 0; step < most_steps; ++step) {
    const auto better = better_model(task, *modes);
    if (!better) return;
    const ModePolish polish =
        modes->polish_of(*better, task.solution.sample, task.state.row_count(), labels ? &*labels : nullptr);
    show(task, *modes, polish, modes->too_many_laws(*better, task.solution.sample, task.state.row_count()));
  }
}

void follow_modes(Task& task) {
  const ModeDriver* modes = task.modes();
  const ModeShape shape = task.shape();
  task.settings.component_count = task.report().component_count = shape.component_count;
  const bool begun = modes != nullptr && modes->polish() != nullptr;
  if (!begun || task.polish->should_check(task.state.row_count())) {
    std::vector<Mixture> starts = spectral_starts(task);
    if (std::optional<Mixture> previous = previous_laws(task, modes)) starts.push_back(std::move(*previous));
    task.solution.laws = likely_laws(task.tensor, task.solution.sample, std::move(starts),
                                     shape.component_count, shape.noise, task.settings.seed);
  }
  if (begun) {
    const std::optional<ModePolish> settled = modes->settled(task.state.row_count());
    return show(task, *modes, settled ? *settled : *modes->polish(), modes->too_many_laws());
  }
  std::optional<ModeDriver::Preview> preview;
  std::optional<Mixture> labels;
  if (task.last != nullptr) labels = task.in_pilot(*task.last);
  if (modes != nullptr) {
    preview = modes->preview(task.solution.laws, task.solution.sample, task.state.row_count(),
                             labels ? &*labels : nullptr);
  }
  if (preview) return show(task, *modes, preview->polish, preview->too_many_laws);
  task.refuse(
      {Reason::too_few_rows,
       "this model needs rows in their order, and the state holds none: read the rows again, or solve it "
       "with --modes independent and Gaussian noise."});
}

}  // namespace mixstream::solving
