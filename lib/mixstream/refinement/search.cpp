#include "mixstream/refinement/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/refinement/candidates.hpp"
#include "mixstream/refinement/fit_conditions.hpp"
#include "mixstream/refinement/standard_errors.hpp"
#include "mixstream/refinement/starts.hpp"
#include "mixstream/verdict/limits.hpp"

namespace mixstream {
namespace {

constexpr int fallback_power = 3;
constexpr int few_iterations = 10;
constexpr std::size_t richer_starts = 8;    // of the model with one law more
constexpr double settled_previous = 3.0;    // standard errors from the previous fit: its weights still serve
constexpr double hopeless_distance = 20.0;  // times the best J so far

std::size_t thin_stride(std::size_t rows, const RefineSettings& settings, std::size_t parameters) {
  const std::size_t wanted = std::max(settings.warm_rows, 25 * parameters);
  return std::max<std::size_t>(1, rows / wanted);
}

/// With one more fit, examined.
Found with(const SearchProblem& problem, Found found, RefinedFit fit) {
  fit = problem.examiner.examined(std::move(fit), found.likeliest);
  found.complaints = fit.complaints;
  fit.starts_tried = found.tried;
  const auto same = [&](const RefinedFit& other) {
    return same_optimum(fit.mixture, other.mixture, problem.second_moment);
  };
  if (fit.accepted && std::ranges::none_of(found.fits, same)) found.fits.push_back(fit);
  if (found.best && problem.sample_is_stream())  // likelier optima may have been met since
    found.best = problem.examiner.examined(*std::move(found.best), found.likeliest);
  if (!found.best || beats(fit, *found.best, problem.sample_is_stream())) found.best = std::move(fit);
  return found;
}

/// EM's optimum as it is, held against the moments of the same rows: no estimate knows more of them.
Found with_optimum(const SearchProblem& problem, Found found, const Mixture& optimum,
                   const SamplePrior& known) {
  auto outcome = fit_conditions(problem.conditions, optimum,
                                {.noise = problem.settings.noise, .rounds = 0, .prior = &known});
  ++found.tried;
  if (!outcome) return found;
  RefinedFit fit = std::move(outcome).value();
  fit.information = known.information;
  const DenseMatrix covariance = covariance_from(fit.information);
  for (std::size_t i = 0; i < problem.parameters; ++i)
    fit.standard_errors[i] = std::sqrt(std::max(covariance(i, i), 0.0));
  return with(problem, std::move(found), std::move(fit));
}

/// The same for the optimum that this start leads to.
Found climbed_from(const SearchProblem& problem, Found found, const Mixture& start) {
  const EmFit end = fit_em(problem.rows, start, problem.swaps().em);
  found = saw(std::move(found), end.mean_log_likelihood);
  const auto known = sample_prior(end.mixture, problem.sample, problem.settings.noise);
  return known ? with_optimum(problem, std::move(found), end.mixture, *known) : found;
}

/// The moments agree but leave something open that the sample closes: so let it, near EM's optimum there.
Found with_sample(const SearchProblem& problem, Found found, const Mixture& optimum, const Mixture& start) {
  const auto prior = sample_prior(optimum, problem.sample, problem.settings.noise);
  if (!prior) return found;
  if (problem.sample_is_stream()) return with_optimum(problem, std::move(found), optimum, *prior);
  return refined(problem, std::move(found), start, {.prior = &*prior});
}

/// The likeliest of EM's optima, and what swaps of its laws lead to.
Warmed improved(const SearchProblem& problem, Warmed warm) {
  if (problem.component_count < many_laws || warm.optima.empty()) return warm;
  Random random(problem.settings.seed + warm.found.optima.size());
  const int patience = problem.likeliest_is_answer() ? 2 * problem.patience() : problem.patience();
  EmFit best = LawSwaps(problem.rows, problem.swaps(), random)
                   .improved(warm.optima.front(), patience, std::numeric_limits<double>::infinity());
  warm.found = saw(std::move(warm.found), best.mean_log_likelihood);
  if (is_known(best.mixture, warm.found.optima, problem.second_moment)) return warm;
  warm.found.optima.push_back(best.mixture);
  warm.optima.insert(warm.optima.begin(), std::move(best));
  return warm;
}

/// BIC that one law more gains; starts end with the first gain beyond doubt.
double gain_of_one_more(const SearchProblem& problem, const EmFit& own) {
  Random random(problem.settings.seed);
  double gain = FitEvidence::not_asked;
  for (const Mixture& start :
       random_starts(problem.tensor, own.mixture.component_count() + 1, richer_starts, random)) {
    gain = std::max(
        gain, bic_gain(problem.settled(start), own, problem.settings.noise, problem.examiner.sample_rows()));
    if (gain > limits::beyond_doubt) break;
  }
  return gain;
}

}  // namespace

SearchProblem::SearchProblem(const MomentTensor& moments, const RowTable& rows_held, std::size_t k,
                             const RefineSettings& how)
    : tensor(moments),
      sample(rows_held),
      settings(how),
      component_count(k),
      parameters(parameter_count(k, sample.feature_count, how.noise)),
      second_moment(tensor.view(0, 1, 1)),
      conditions(tensor, sample, choose_conditions(tensor.layout(), how.largest_condition_count)),
      examiner(tensor, sample),
      rows(sample),
      thin_rows(every(sample, thin_stride(sample.size(), how, parameters))) {}

bool SearchProblem::sample_is_stream() const noexcept {
  return tensor.effective_rows < 1.001 * examiner.sample_rows();
}

bool SearchProblem::likeliest_is_answer() const noexcept {
  return sample_is_stream() && is_crowded(component_count, parameters);
}

EmSettings SearchProblem::em(int iterations) const {
  return {.noise = settings.noise, .max_iterations = iterations, .stop_below_gain = 1e-7};
}

SwapSettings SearchProblem::swaps() const {
  SwapSettings swaps{.em = em(settings.warm_iterations)};
  swaps.em.extrapolated = true;
  return swaps;
}

Found saw(Found found, double mean_log_likelihood) {
  found.likeliest = std::max(found.likeliest, mean_log_likelihood);
  return found;
}

Found refined(const SearchProblem& problem, Found found, const Mixture& start, const RefineFrom& how) {
  found.complaints = {};
  if (problem.conditions.size(how.highest_power) < problem.parameters) return found;
  if (problem.likeliest_is_answer() && how.highest_power == highest_response_power)
    return climbed_from(problem, std::move(found), start);
  ConditionFitSettings settings{.noise = problem.settings.noise,
                                .highest_power = how.highest_power,
                                .rounds = how.rounds,
                                .prior = how.prior};
  if (how.rounds == 1) settings.settled_below = settled_previous;
  if (found.best) settings.give_up_above = hopeless_distance * found.best->distance;
  auto outcome = fit_conditions(problem.conditions, start, settings);
  ++found.tried;
  return outcome ? with(problem, std::move(found), std::move(outcome).value()) : found;
}

Found from_previous(const SearchProblem& problem, Found found, const Mixture& previous) {
  const EmFit nearby = fit_em(problem.rows, previous, problem.em(few_iterations));
  found = saw(std::move(found), nearby.mean_log_likelihood);
  found = refined(problem, std::move(found), previous, {.rounds = 1});
  if (found.best) found.previous = {found.best->start_distance, found.best->condition_count, found.tried};
  if (!found.only_sample_complains()) return found;
  found = with_sample(problem, std::move(found), nearby.mixture, previous);
  if (found.previous) found.previous->tried = found.tried;
  return found;
}

Warmed warmed(const SearchProblem& problem, Found found, const std::vector<Mixture>& starts) {
  const int iterations = problem.settings.warm_iterations;
  std::vector<EmFit> optima;
  for (const Mixture& start : starts) {
    const EmFit rough = fit_em(problem.thin_rows, start, problem.em(iterations));
    if (rough.converged && is_known(rough.mixture, found.rough_optima, problem.second_moment))
      continue;  // leads where that one led
    if (rough.converged) found.rough_optima.push_back(rough.mixture);
    EmFit full = fit_em(problem.rows, rough.mixture, problem.em(iterations / 2));
    found = saw(std::move(found), full.mean_log_likelihood);
    if (is_known(full.mixture, found.optima, problem.second_moment)) continue;
    found.optima.push_back(full.mixture);
    optima.push_back(std::move(full));
  }
  optima = ranked(std::move(optima), found.likeliest, problem.examiner.sample_rows(), problem.parameters);
  return {std::move(found), std::move(optima)};
}

Found from_starts(const SearchProblem& problem, Found found, std::vector<Mixture> starts) {
  for (Mixture& start : starts)
    start = tamed(problem.tensor, std::move(start), problem.settings.noise == NoiseModel::known);
  Warmed warm = improved(problem, warmed(problem, std::move(found), starts));
  found = std::move(warm.found);
  const double plausible = limits::largest_deviance(static_cast<double>(problem.parameters));
  for (const EmFit& start : warm.optima) {
    const double deviance =
        2.0 * problem.examiner.sample_rows() * (found.likeliest - start.mean_log_likelihood);
    if (found.accepted() && deviance > plausible) break;
    found = refined(problem, std::move(found), start.mixture);
    if (found.only_sample_complains())
      found = with_sample(problem, std::move(found), start.mixture, start.mixture);
  }
  if (problem.likeliest_is_answer()) return found;
  for (const Mixture& start : starts) {
    if (found.accepted() && start.component_count() <= 2) return found;
    const EmFit begun = fit_em(problem.rows, start, problem.em(few_iterations));
    found = refined(problem, std::move(found), begun.mixture);
  }
  return found;
}

Found by_lower_order(const SearchProblem& problem, Found found) {
  if (!found.best || found.accepted() || !found.best->complaints.distance) return found;
  if (problem.conditions.variance_error(found.best->mixture) < limits::largest_variance_error) return found;
  struct LowerOrder {
    ConditionSet set;
    int highest_power;
  };
  for (const auto& [set, power] : {LowerOrder{{{2, 2, 1, 0, 0}}, 4}, LowerOrder{{{2, 2, 2, 1, 0}}, 5}}) {
    const Conditions lower(problem.tensor, problem.sample, set);
    if (lower.size(power) <= problem.parameters) continue;
    auto outcome =
        fit_conditions(lower, found.best->mixture, {.noise = problem.settings.noise, .highest_power = power});
    if (!outcome || outcome.value().dof == 0) continue;
    RefinedFit fit = problem.examiner.examined(std::move(outcome).value(), found.likeliest);
    fit.lower_order = true;
    fit.starts_tried = ++found.tried;
    if (fit.accepted && fit.p_value > limits::least_second_opinion) found.best = std::move(fit);
    return found;
  }
  return found;
}

Found by_low_powers(const SearchProblem& problem, Found found) {
  if (!found.best || found.accepted() || !found.best->complaints.distance) return found;
  const Mixture start = found.best->mixture;
  found = refined(problem, std::move(found), start, {.highest_power = fallback_power});
  if (!found.accepted()) return found;
  const Mixture again = found.best->mixture;
  return refined(problem, std::move(found), again);
}

Found beside_richer(const SearchProblem& problem, Found found) {
  if (!found.accepted() || problem.settings.noise == NoiseModel::known || !problem.sample_is_stream())
    return found;
  const EmFit own = problem.settled(found.best->mixture);
  EmSettings unequal = problem.em(problem.settings.warm_iterations);
  unequal.noise = NoiseModel::per_component;
  if (own.mixture.component_count() > 1 && problem.settings.noise == NoiseModel::shared)
    found.best->own_noise_gain = bic_gain(fit_em(problem.rows, own.mixture, unequal), own,
                                          problem.settings.noise, problem.examiner.sample_rows());
  found.best->one_law_more_gain = gain_of_one_more(problem, own);
  found.best->conclude();
  return found;
}

std::optional<RefinedFit> answer(Found found) {
  std::optional<RefinedFit> result = std::move(found.best);
  if (!result || !found.previous || found.previous->condition_count != result->condition_count) return result;
  result->previous_distance = found.previous->distance;
  result->elsewhere = result->starts_tried > found.previous->tried;
  return result;
}

}  // namespace mixstream
