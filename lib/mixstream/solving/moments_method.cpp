// The default way: laws from the moments of all rows, brought to the likelihood's accuracy.
#include <bit>
#include <limits>
#include <numeric>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/likelihood/em_search.hpp"
#include "mixstream/refinement/hausman.hpp"
#include "mixstream/refinement/outliers.hpp"
#include "mixstream/refinement/sample_prior.hpp"
#include "mixstream/solving/solve_modes.hpp"
#include "mixstream/solving/task.hpp"

namespace mixstream::solving {
namespace {

BinnedMoments by_magnitude(const Task& task) {
  BinnedMoments binned;
  for (std::size_t bin = 0; bin < bin_count; ++bin) {
    yield_point();
    BinMask only{};
    only[bin] = true;
    binned.bins.push_back(task.state.moments(only));
    binned.bins.back().row_count = task.state.bin_rows()[bin];
  }
  binned.sample = task.solution.sample;
  binned.sample_bins.assign(task.sample.bins.begin(), task.sample.bins.end());
  return binned;
}

/// The best start there is, in pilot coordinates: what the polish says now, or else the last fit.
std::optional<Mixture> previous_fit(const Task& task) {
  std::optional<Mixture> previous;
  if (task.polish != nullptr && task.polish->polish() != nullptr)
    previous = task.polish->polish()->fit().mixture;
  else if (task.last != nullptr)
    previous = task.in_pilot(*task.last);
  if (!previous || previous->component_count() != task.settings.component_count || !is_finite(*previous))
    return {};
  if (task.settings.noise == NoiseModel::known)
    std::ranges::fill(previous->noise_variances, task.pilot_noise());
  return previous;
}

BinSettings refinement_of(const Task& task) {
  BinSettings refinement;
  refinement.largest_tail_share = task.settings.guard ? refinement.largest_tail_share : 0.0;
  refinement.refine.noise = task.settings.noise;
  refinement.refine.seed = task.settings.seed;
  if (task.polish == nullptr) return refinement;
  refinement.likely_bins = std::popcount(task.polish->schedule().bins);
  refinement.refine.seek_rivals = task.polish->should_check(task.state.row_count());
  refinement.refine.previous_was_met = !task.polish->tentative();
  return refinement;
}

/// Laws and information of the sample alone, in place of what the moments say; false where there are none.
bool take_likeliest(RefinedFit& fit, const Mixture& start, const RowTable& sample) {
  const EmFit em = fit_em(sample, start, {.noise = fit.noise});
  const double total = std::accumulate(sample.weights.begin(), sample.weights.end(), 0.0);
  if (!is_finite(em.mixture) || is_spurious(em.mixture, total)) return false;
  const std::optional<SamplePrior> known = sample_prior(em.mixture, sample, fit.noise);
  if (!known) return false;
  fit.mixture = em.mixture;
  fit.information = known->information;
  return true;
}

/// The moments contradict every fit to them: heavy tails ruin them, or the model is too small. Then the
/// likelihood's laws are shown, never worse than EM, and the polish goes on from there.
bool take_sample_laws(Task& task, RefinedFit& fit) {
  std::vector<Mixture> starts{fit.mixture};
  if (std::optional<Mixture> previous = previous_fit(task)) starts.push_back(std::move(*previous));
  const std::vector<Mixture> laws = likely_laws(task.tensor, task.solution.sample, std::move(starts),
                                                task.settings.component_count, fit.noise, task.settings.seed);
  for (const Mixture& start : laws) {
    if (take_likeliest(fit, start, task.solution.sample)) return true;
  }
  return false;
}

/// The moments of all rows and the scores of all rows are two ways to the same laws, with optima of their
/// own. Where the two ends differ by far more than their errors, one is wrong, whatever each says of
/// itself. With y, y^2 and y^3 alone the noise is not Gaussian, and the scores may differ.
bool parts_from_moments(const RefinedFit& fit, const Mixture& polished) {
  const bool apart = lies_apart(fit, polished) || found_elsewhere(fit, polished);
  return (apart && !fit.cubic) || moments_reject(fit, polished);
}

/// Laws to report: of the polish where there is one to believe, else those of the fit.
std::optional<PolishedFit> polished_fit(const Task& task, const RefinedFit& fit) {
  if (task.polish == nullptr || fit.likeliest) return {};
  return task.polish->fit_to_report(fit, task.solution.sample);
}

/// The laws to show, with what they know of themselves.
struct ShownLaws {
  Mixture mixture;
  DenseMatrix information;
  NoiseModel noise = NoiseModel::shared;
  bool polished = false;
};

/// Who is believed: the sample where it is the stream, or where the moments reject every fit; else the
/// polish, and without one the moments. Leaves as evidence who was, and how far the two part.
ShownLaws choose_laws(Task& task, const RefinedFit& by_moments) {
  RefinedFit& fit = *task.solution.refined;
  Evidence& evidence = task.evidence;
  const bool contradicted = !by_moments.accepted && !by_moments.complaints.only_search();
  if (task.sample_is_stream() && take_likeliest(fit, by_moments.mixture, task.solution.sample))
    fit.likeliest = true;
  if (contradicted && (fit.likeliest || take_sample_laws(task, fit)))
    fit.by_likelihood = evidence.laws_by_likelihood = true;
  ShownLaws shown{fit.mixture, fit.information, fit.noise, fit.likeliest};
  if (std::optional<PolishedFit> polished = polished_fit(task, fit))
    shown = {std::move(polished->mixture), std::move(polished->information), fit.noise, true};
  if (by_moments.accepted && shown.polished && task.polish != nullptr) {
    evidence.parted = parts_from_moments(by_moments, shown.mixture);
    evidence.parting = parting(by_moments, shown.mixture);
  }
  return shown;
}

/// Tells them, decides nothing.
void report_laws(Task& task, const ShownLaws& shown) {
  const MixtureErrors errors = raw_mixture_errors(
      shown.mixture, shown.noise, covariance_from(shown.information), task.layout, task.tensor.pilot());
  task.report().stage = shown.polished ? FitStage::polished : FitStage::refined;
  take(task, task.in_raw(shown.mixture), &errors);
  task.solution.shape = shape_of(task.settings, task.layout);
  task.solution.model = model_from(shown.mixture, task.solution.shape);
  task.solution.laws = {shown.mixture};
}

/// Rivals that this solve met, or, where it did not look, the polish's last check.
int rivals_of(const Task& task, const RefinedFit& fit) {
  if (fit.rivals > 0 || task.polish == nullptr) return fit.rivals;
  return task.polish->in_doubt() && !task.polish->should_check(task.state.row_count()) ? 1 : 0;
}

}  // namespace

void refine_moments(Task& task) {
  const BinnedMoments binned = by_magnitude(task);
  yield_point();
  std::vector<Mixture> starts;
  if (task.settings.component_count == 0 && !choose_components(task, binned, starts)) return;
  if (task.settings.component_count == 1) return fit_one_law(task);
  for (Mixture& start : spectral_starts(task)) starts.push_back(std::move(start));
  const std::optional<Mixture> previous = previous_fit(task);
  Outcome<BinnedFit> outcome = refine_with_bins(binned, task.settings.component_count, starts,
                                                refinement_of(task), previous ? &*previous : nullptr);
  if (!outcome) return task.refuse(outcome.refusal());
  BinnedFit& found = outcome.value();
  task.solution.bins = (1U << found.bins_used) - 1;
  task.solution.sample = sample_of_bins(binned, found.bins_used);
  task.report().set_aside = found.rows_set_aside;
  found.fit.rivals = rivals_of(task, found.fit);
  task.solution.refined = found.fit;
  task.evidence.moments = found.fit;
  task.evidence.tail_suspected = found.tail_suspected;
  const RefinedFit& fit = found.fit;
  task.report().moment_test = {fit.distance, fit.dof, fit.p_value, fit.expected_ratio, fit.conditions};
  report_laws(task, choose_laws(task, fit));
  conclude(task);
}

}  // namespace mixstream::solving
