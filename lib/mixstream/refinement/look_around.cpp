// What lies around an accepted fit: other optima of the sample, and whether the moments exclude them.
#include <algorithm>

#include "mixstream/likelihood/likelihood_gain.hpp"
#include "mixstream/refinement/hausman.hpp"
#include "mixstream/refinement/search.hpp"
#include "mixstream/refinement/starts.hpp"

namespace mixstream {
namespace {

// Were the rival right, J would exceed the fit's by so much, or its likelihood fall below by so much of its
// standard error, in fewer than one stream in a million, or in a thousand.
constexpr double near_distance = 25.0;
constexpr double near_deviations = 3.0;
constexpr double hopeless_deviations = 6.0;
constexpr int few_rival_starts = 3;
constexpr double same_likelihood = 1.0;  // nats of the sample: EM has not quite settled

}  // namespace

void Search::look_around(bool known) {
  Random random(settings_.seed + tensor_.row_count);
  LawSwaps swaps(rows_, swap_settings(), random);
  const int before = tried_;
  const Mixture first = best_->mixture;
  EmFit optimum = settled(first);
  for (int i = 0; i < patience() && refined_around_ < settings_.rival_refinements; ++i) {
    if (const std::optional<EmFit> other = swaps.swapped(optimum)) consider(*other, optimum);
  }
  prefer_likelier(optimum);
  const auto met = [&] {
    const int needed = !lies_apart(first) ? (known ? 0 : 1) : best_->starts_tried > before ? 2 : 1;
    return times_met(optimum) >= needed;  // another start than its own
  };
  for (int i = 0; i < rival_starts() || (i < settings_.confirming_starts && !met()); ++i) {
    const EmFit other = climbed(random_start(random), optimum, swaps);
    consider(other, optimum);
    around_.push_back(other.mixture);
    prefer_likelier(optimum);
  }
  examiner_.examine(*best_);
  best_->rivals = count_rivals(optimum);
  best_->met_again = met() || (known && best_->rivals > 0);  // a rival of the known one: a doubt
  best_->conclude();
}

int Search::rival_starts() const noexcept {
  const bool slow = is_crowded(component_count_, parameters_);
  return slow ? std::min(few_rival_starts, settings_.rival_starts) : settings_.rival_starts;
}

Mixture Search::random_start(Random& random) const {
  Mixture start = random_starts(tensor_, component_count_, 1, random).front();
  if (settings_.noise == NoiseModel::known) start.noise_variances = best_->mixture.noise_variances;
  return start;
}

EmFit Search::climbed(const Mixture& start, const EmFit& optimum, LawSwaps& swaps) {
  const EmFit rough = fit_em(thin_rows(), start, em_settings(settings_.warm_iterations));
  return swaps.improved(settled(rough.mixture), patience(),
                        optimum.mean_log_likelihood - same_likelihood / examiner_.sample_rows());
}

double Search::deviations_below(const EmFit& other, const EmFit& optimum) const {
  return likelihood_gain(optimum.mixture, other.mixture, sample_).deviations();
}

void Search::consider(const EmFit& other, EmFit& optimum) {
  examiner_.saw(other.mean_log_likelihood);
  if (refined_around_ == settings_.rival_refinements || is_known(other.mixture, considered_) ||
      same_optimum(other.mixture, optimum.mixture, second_moment_) ||
      deviations_below(other, optimum) > (likeliest_is_answer() ? near_deviations : hopeless_deviations))
    return;
  considered_.push_back(other.mixture);
  ++refined_around_;
  const double distance = best_->distance;
  refine_from(other.mixture, highest_response_power, 3);
  if (best_->distance != distance) optimum = settled(best_->mixture);
}

bool Search::lies_apart(const Mixture& mixture) const {
  return hausman_distance(*best_, mixture) > hausman_limit(parameters_);
}

std::ptrdiff_t Search::times_met(const EmFit& optimum) const {
  return std::ranges::count_if(
      around_, [&](const Mixture& end) { return same_optimum(end, optimum.mixture, second_moment_); });
}

std::vector<RefinedFit> Search::near_in_distance() const {
  const auto excess = [](const RefinedFit& fit) { return fit.distance - static_cast<double>(fit.dof); };
  double least = excess(*best_);
  for (const RefinedFit& fit : accepted_) least = std::min(least, excess(fit));
  std::vector<RefinedFit> near = accepted_;
  std::erase_if(near, [&](const RefinedFit& fit) { return excess(fit) > least + near_distance; });
  return near;
}

void Search::prefer_likelier(EmFit& optimum) {
  for (RefinedFit& fit : near_in_distance()) {
    const EmFit other = settled(fit.mixture);
    if (!(deviations_below(other, optimum) < -near_deviations)) continue;
    best_ = std::move(fit);
    optimum = other;
  }
}

int Search::count_rivals(const EmFit& optimum) {
  int count = 0;
  for (RefinedFit& fit : near_in_distance()) {
    if (!lies_apart(fit.mixture)) continue;
    examiner_.examine(fit);  // likelier optima may have been met since
    const EmFit other = settled(fit.mixture);
    count += fit.accepted && !same_optimum(other.mixture, optimum.mixture, second_moment_) &&
             deviations_below(other, optimum) < near_deviations;
  }
  return count;
}

}  // namespace mixstream
