// The methods that are reported as they stand: the paper's estimator, and EM on the sample.
#include "mixstream/likelihood/em_search.hpp"
#include "mixstream/solving/task.hpp"
#include "mixstream/verdict/paper.hpp"

namespace mixstream::solving {
namespace {

/// The default method's laws, for what theory asks of the penalties.
std::optional<Mixture> plugged_in(const Task& task) {
  SolveSettings standard = task.settings;
  standard.method = FitMethod::standard;
  return solve(task.state, standard, {.last = task.last}, SolveDetail::fit).mixture;
}

Outcome<SpectralFit> paper_fit(Task& task) {
  const auto k = static_cast<int>(task.settings.component_count);
  SpectralSettings spectral = task.spectral_settings();
  if (spectral.penalty == PaperPenalty::theory) spectral.plugged_in = plugged_in(task);
  if (task.state.settings().memory.kind != Memory::Kind::three_parts)
    return paper_estimate(task.tensor, k, spectral, task.workspace, task.paper);
  const MomentTensor first = task.state.part_moments(0);
  const MomentTensor second = task.state.part_moments(1);
  const MomentTensor third = task.state.part_moments(2);
  return paper_estimate({first, second, third}, k, spectral, task.workspace, task.paper);
}

std::vector<Mixture> known_noise_starts(const Task& task) {
  Random random(task.settings.seed);
  std::vector<Mixture> starts;
  for (int i = 0; i < task.settings.em_starts; ++i) {
    starts.push_back(random_em_start(task.settings.component_count, task.feature_count(), random));
    std::ranges::fill(starts.back().noise_variances, task.pilot_noise());
  }
  return starts;
}

}  // namespace

void follow_paper(Task& task) {
  Outcome<SpectralFit> fit = paper_fit(task);
  if (!fit) return task.refuse(fit.refusal());
  Report& report = task.report();
  report.stage = FitStage::spectral;
  const PaperVerdict verdict = paper_verdict(fit.value());
  report.status = verdict.status;
  report.words = verdict.words;
  report.noise_source = fit.value().noise_source == NoiseSource::known ? "known" : "estimated";
  report.spectral = std::make_shared<const SpectralFit>(fit.value());
  take(task, fit.value().mixture, nullptr);
}

void run_em(Task& task) {
  EmSettings em;
  em.noise = task.settings.noise;
  const RowTable& rows = task.solution.sample;
  Outcome<EmSearch> search = task.settings.noise == NoiseModel::known
                                 ? best_of_starts(rows, known_noise_starts(task), em)
                                 : best_of_random_starts(rows, task.settings.component_count,
                                                         task.settings.em_starts, task.settings.seed, em);
  if (!search) return task.refuse(search.refusal());
  task.report().stage = FitStage::em;
  task.evidence.em = {rows.size(), task.settings.em_starts, search.value().best_is_spurious};
  pass_judgement(task);
  take(task, task.in_raw(search.value().best.mixture), nullptr);
}

}  // namespace mixstream::solving
