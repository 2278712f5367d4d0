// What lies around an accepted fit: other optima of the sample, and whether the moments exclude them.
#include <algorithm>
#include <utility>

#include "mixstream/likelihood/likelihood_gain.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/refinement/candidates.hpp"
#include "mixstream/refinement/hausman.hpp"
#include "mixstream/refinement/search.hpp"
#include "mixstream/refinement/starts.hpp"
#include "mixstream/verdict/limits.hpp"

namespace mixstream {
namespace {

constexpr int few_rival_starts = 3;
constexpr double same_likelihood = 1.0;  // nats of the sample: EM has not quite settled

/// What was found, the sample's optimum at the best fit, and what has been met on the way round it.
struct Surroundings {
  Found found;
  EmFit optimum;
  std::vector<Mixture> ends = {};        ///< of EM, one for each start
  std::vector<Mixture> considered = {};  ///< from where the moments were refined
};

double deviations_below(const SearchProblem& problem, const EmFit& other, const EmFit& optimum) {
  return likelihood_gain(optimum.mixture, other.mixture, problem.sample).deviations();
}

bool refines_more(const SearchProblem& problem, const Surroundings& around) {
  return static_cast<int>(around.considered.size()) < problem.settings.rival_refinements;
}

/// Where J hardly decides, the sample does.
Surroundings with_likelier(const SearchProblem& problem, Surroundings around) {
  for (RefinedFit& fit : near_in_distance(*around.found.best, around.found.fits)) {
    EmFit other = problem.settled(fit.mixture);
    if (!(deviations_below(problem, other, around.optimum) < -limits::near_deviations)) continue;
    around.found.best = std::move(fit);
    around.optimum = std::move(other);
  }
  return around;
}

/// Refines from another optimum of the sample, unless that is known or hopeless.
Surroundings considering(const SearchProblem& problem, Surroundings around, const EmFit& other) {
  around.found = saw(std::move(around.found), other.mean_log_likelihood);
  const double hopeless =
      problem.likeliest_is_answer() ? limits::near_deviations : limits::hopeless_deviations;
  if (!refines_more(problem, around) || is_known(other.mixture, around.considered, problem.second_moment) ||
      same_optimum(other.mixture, around.optimum.mixture, problem.second_moment) ||
      deviations_below(problem, other, around.optimum) > hopeless)
    return around;
  around.considered.push_back(other.mixture);
  const double distance = around.found.best->distance;
  around.found = refined(problem, std::move(around.found), other.mixture);
  if (around.found.best->distance != distance) around.optimum = problem.settled(around.found.best->mixture);
  return around;
}

/// From a start of its own towards the optimum's likelihood, by EM and swaps.
EmFit climbed(const SearchProblem& problem, const RefinedFit& best, const EmFit& optimum, LawSwaps& swaps,
              Random& random) {
  Mixture start = random_starts(problem.tensor, problem.component_count, 1, random).front();
  if (problem.settings.noise == NoiseModel::known) start.noise_variances = best.mixture.noise_variances;
  const EmFit rough = fit_em(problem.thin_rows, start, problem.em(problem.settings.warm_iterations));
  return swaps.improved(problem.settled(rough.mixture), problem.patience(),
                        optimum.mean_log_likelihood - same_likelihood / problem.examiner.sample_rows());
}

bool lies_apart_from(const SearchProblem& problem, const RefinedFit& best, const Mixture& mixture) {
  return hausman_distance(best, mixture) > hausman_limit(problem.parameters);
}

/// Accepted fits that lie apart from the best beyond its errors, and that neither J nor the sample excludes.
int count_rivals(const SearchProblem& problem, const Surroundings& around) {
  int count = 0;
  for (RefinedFit& fit : near_in_distance(*around.found.best, around.found.fits)) {
    if (!lies_apart_from(problem, *around.found.best, fit.mixture)) continue;
    fit = problem.examiner.examined(std::move(fit), around.found.likeliest);  // likelier ones met since
    const EmFit other = problem.settled(fit.mixture);
    count += fit.accepted && !same_optimum(other.mixture, around.optimum.mixture, problem.second_moment) &&
             deviations_below(problem, other, around.optimum) < limits::near_deviations;
  }
  return count;
}

/// Fewer starts where one takes seconds.
int rival_starts(const SearchProblem& problem) noexcept {
  const bool slow = is_crowded(problem.component_count, problem.parameters);
  const int wanted = problem.settings.rival_starts;
  return slow ? std::min(few_rival_starts, wanted) : wanted;
}

/// Whether another start than its own has come back to the best fit.
bool met(const SearchProblem& problem, const Surroundings& around, const Mixture& first, int before,
         bool known) {
  const RefinedFit& best = *around.found.best;
  const int needed = !lies_apart_from(problem, best, first) ? (known ? 0 : 1)
                     : best.starts_tried > before           ? 2
                                                            : 1;
  return std::ranges::count_if(around.ends, [&](const Mixture& end) {
           return same_optimum(end, around.optimum.mixture, problem.second_moment);
         }) >= needed;
}

}  // namespace

Found looked_around(const SearchProblem& problem, Found found, bool known) {
  Random random(problem.settings.seed + problem.tensor.row_count);
  LawSwaps swaps(problem.rows, problem.swaps(), random);
  const int before = found.tried;
  const Mixture first = found.best->mixture;
  Surroundings around{std::move(found), problem.settled(first)};
  for (int i = 0; i < problem.patience() && refines_more(problem, around); ++i) {
    if (const std::optional<EmFit> other = swaps.swapped(around.optimum))
      around = considering(problem, std::move(around), *other);
  }
  around = with_likelier(problem, std::move(around));
  const auto is_met = [&] { return met(problem, around, first, before, known); };
  for (int i = 0; i < rival_starts(problem) || (i < problem.settings.confirming_starts && !is_met()); ++i) {
    const EmFit other = climbed(problem, *around.found.best, around.optimum, swaps, random);
    around = considering(problem, std::move(around), other);
    around.ends.push_back(other.mixture);
    around = with_likelier(problem, std::move(around));
  }
  RefinedFit best = problem.examiner.examined(*around.found.best, around.found.likeliest);
  around.found.best = best;
  best.rivals = count_rivals(problem, around);
  best.met_again = is_met() || (known && best.rivals > 0);  // a rival of the known one: a doubt
  best.conclude();
  around.found.best = std::move(best);
  return std::move(around.found);
}

}  // namespace mixstream
