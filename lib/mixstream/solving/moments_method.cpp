// The default way: laws from the moments of all rows, brought to the likelihood's accuracy.
#include <bit>
#include <limits>
#include <numeric>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/likelihood/em_search.hpp"
#include "mixstream/refinement/component_count.hpp"
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

/// Of least BIC among those that the moments can determine at all.
std::size_t best_matched(const ComponentCount& chosen) {
  const ComponentCandidate* best = nullptr;
  for (const ComponentCandidate& candidate : chosen.candidates) {
    if (candidate.matched && (best == nullptr || candidate.bic < best->bic)) best = &candidate;
  }
  return best != nullptr ? best->component_count : chosen.component_count;
}

/// The least BIC of k laws on the held rows, whatever noise the rows may choose: heavy tails and unequal
/// variances would pass for laws of their own.
double least_bic(const Task& task, const ModeDriver& modes, const Mixture& laws) {
  double least = std::numeric_limits<double>::infinity();
  ModeShape shape = shape_of(task.settings, task.layout);
  shape.component_count = laws.component_count();
  ModeShape unequal = shape;
  if (laws.component_count() > 1) unequal.noise = NoiseModel::per_component;
  ModeShape heavy = shape;
  heavy.noise_shape.tails = true;
  for (const ModeShape& tried : {shape, unequal, heavy}) {
    const auto candidate =
        modes.candidate(tried, std::span(&laws, 1), task.solution.sample, task.state.row_count());
    if (candidate) least = std::min(least, candidate->bic);
  }
  return least;
}

/// Fewer laws than the plain model asks for, where other noise explains what the further ones were for.
std::size_t fewest_laws(const Task& task, const ComponentCount& chosen, std::size_t plain) {
  const ModeDriver* modes = task.modes();
  if (modes == nullptr || !modes->settings().choice.noise || modes->runs().size() == 0) return plain;
  std::size_t best = plain;
  double least = std::numeric_limits<double>::infinity();
  for (const ComponentCandidate& candidate : chosen.candidates) {
    if (candidate.component_count > plain) break;
    yield_point();
    const double bic = least_bic(task, *modes, candidate.mixture);
    if (bic < least) {
      least = bic;
      best = candidate.component_count;
    }
  }
  return best;
}

/// k = auto: by the BIC of the sample without its tail, which would pass for a law of its own.
bool choose_components(Task& task, const BinnedMoments& binned, std::vector<Mixture>& starts) {
  ComponentCountSettings choice;
  choice.noise = task.settings.noise;
  choice.known_noise_variance = task.pilot_noise();
  choice.largest = task.settings.largest_component_count;
  choice.seed = task.settings.seed;
  const bool thin_tail = binned.bins[0].total_weight() > 0.98 * task.tensor.total_weight();
  const int bins = task.settings.guard && thin_tail ? 1 : static_cast<int>(bin_count);
  Outcome<ComponentCount> chosen =
      choose_component_count(moments_of_bins(binned, bins), sample_of_bins(binned, bins), choice);
  if (!chosen) {
    task.refuse(chosen.refusal());
    return false;
  }
  task.settings.component_count = task.report().component_count =
      fewest_laws(task, chosen.value(), best_matched(chosen.value()));
  for (const ComponentCandidate& candidate : chosen.value().candidates) {
    const bool taken = candidate.component_count == task.settings.component_count;
    if (taken) starts.push_back(candidate.mixture);
    std::optional<double> ratio;
    if (candidate.matched && candidate.dof > 0)
      ratio = candidate.distance / static_cast<double>(candidate.dof);
    task.report().candidates.push_back(
        {candidate.component_count, candidate.mean_log_likelihood, candidate.bic, ratio, taken});
  }
  return true;
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

void describe_refined(Task& task, const RefinedFit& by_moments) {
  RefinedFit& fit = *task.solution.refined;
  Evidence& evidence = task.evidence;
  const bool contradicted = !by_moments.accepted && !by_moments.complaints.only_search();
  if (task.sample_is_stream() && take_likeliest(fit, by_moments.mixture, task.solution.sample))
    fit.likeliest = true;
  if (contradicted && (fit.likeliest || take_sample_laws(task, fit)))
    fit.by_likelihood = evidence.laws_by_likelihood = true;
  const std::optional<PolishedFit> polished = polished_fit(task, fit);
  task.report().stage = polished || fit.likeliest ? FitStage::polished : FitStage::refined;
  const Mixture& mixture = polished ? polished->mixture : fit.mixture;
  const DenseMatrix covariance = covariance_from(polished ? polished->information : fit.information);
  const MixtureErrors errors =
      raw_mixture_errors(mixture, fit.noise, covariance, task.layout, task.tensor.pilot());
  if (by_moments.accepted && (polished || fit.likeliest) && task.polish != nullptr) {
    evidence.parted = parts_from_moments(by_moments, mixture);
    evidence.parting = parting(by_moments, mixture);
  }
  take(task, task.in_raw(mixture), &errors);
  task.solution.shape = shape_of(task.settings, task.layout);
  task.solution.model = model_from(mixture, task.solution.shape);
  task.solution.laws = {mixture};
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
  describe_refined(task, fit);
  conclude(task);
}

}  // namespace mixstream::solving
