#include "mixstream/refinement/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mixstream/refinement/fit_conditions.hpp"
#include "mixstream/refinement/standard_errors.hpp"
#include "mixstream/refinement/starts.hpp"
#include "mixstream/verdict/limits.hpp"

namespace mixstream {
namespace {

constexpr int fallback_power = 3;
// As if 25 rows carried a variance: with a sample of 5,000, bounded features stay far below, Gaussian ones do
// not.
constexpr double largest_variance_error = 0.2;
constexpr double least_second_opinion = 1e-3;  // p of J of lower order, which is asked after J has complained
constexpr int few_iterations = 10;
constexpr std::size_t richer_starts = 8;    // of the model with one law more
constexpr double settled_previous = 3.0;    // standard errors from the previous fit: its weights still serve
constexpr double hopeless_deviance = 50.0;  // per parameter: such a start lies in a wrong valley
constexpr double hopeless_distance = 20.0;  // times the best J so far

RowTable every(const RowTable& rows, std::size_t stride) {
  RowTable thin{rows.feature_count, {}, {}, {}};
  for (std::size_t i = 0; i < rows.size(); i += stride) thin.add(rows.row(i));
  return thin;
}

}  // namespace

Search::Search(const MomentTensor& tensor, const RowTable& sample, std::size_t component_count,
               const RefineSettings& settings)
    : tensor_(tensor),
      sample_(sample),
      settings_(settings),
      component_count_(component_count),
      parameters_(parameter_count(component_count, sample.feature_count, settings.noise)),
      second_moment_(tensor.view(0, 1, 1)),
      conditions_(tensor, sample, choose_conditions(tensor.layout(), settings.largest_condition_count)),
      examiner_(tensor, sample),
      rows_(sample) {}

std::optional<RefinedFit> Search::best() const {
  std::optional<RefinedFit> result = best_;
  if (!result || !previous_ || previous_->condition_count != result->condition_count) return result;
  result->previous_distance = previous_->distance;
  result->elsewhere = result->starts_tried > previous_->tried;
  return result;
}

void Search::try_previous(const Mixture& previous) {
  const EmFit nearby = fit_em(rows_, previous, em_settings(few_iterations));
  examiner_.saw(nearby.mean_log_likelihood);
  refine_from(previous, highest_response_power, 1);
  if (best_) previous_ = {best_->start_distance, best_->condition_count, tried_};
  if (!only_sample_complains()) return;
  refine_with_sample(nearby.mixture, previous);
  if (previous_) previous_->tried = tried_;
}

void Search::try_batch(std::vector<Mixture> starts) {
  for (Mixture& start : starts) {
    start = tamed(tensor_, std::move(start), settings_.noise == NoiseModel::known);
  }
  for (const EmFit& start : improved(warmed(starts))) {
    if (accepted() && deviance(start) > plausible_deviance()) break;
    refine_from(start.mixture, highest_response_power, 3);
    if (only_sample_complains()) refine_with_sample(start.mixture, start.mixture);
  }
  if (likeliest_is_answer()) return;
  for (const Mixture& start : starts) {
    if (accepted() && start.component_count() <= 2) return;
    refine_from(fit_em(rows_, start, em_settings(few_iterations)).mixture, highest_response_power, 3);
  }
}

void Search::try_lower_order() {
  if (!best_ || accepted() || !best_->complaints.distance) return;
  if (conditions_.variance_error(best_->mixture) < largest_variance_error) return;
  struct LowerOrder {
    ConditionSet set;
    int highest_power;
  };
  for (const auto& [set, power] : {LowerOrder{{{2, 2, 1, 0, 0}}, 4}, LowerOrder{{{2, 2, 2, 1, 0}}, 5}}) {
    const Conditions lower(tensor_, sample_, set);
    if (lower.size(power) <= parameters_) continue;
    auto outcome = fit_conditions(lower, best_->mixture, {.noise = settings_.noise, .highest_power = power});
    if (!outcome || outcome.value().dof == 0) continue;
    RefinedFit& fit = outcome.value();
    examiner_.examine(fit);
    fit.lower_order = true;
    fit.starts_tried = ++tried_;
    if (fit.accepted && fit.p_value > least_second_opinion) best_ = std::move(fit);
    return;
  }
}

void Search::try_fall_back() {
  if (!best_ || accepted() || !best_->complaints.distance) return;
  refine_from(Mixture(best_->mixture), fallback_power, 3);
  if (accepted()) refine_from(Mixture(best_->mixture), highest_response_power, 3);
}

void Search::compare_with_richer() {
  if (!accepted() || settings_.noise == NoiseModel::known) return;
  if (!sample_is_stream()) return;
  const EmFit own = settled(best_->mixture);
  if (own.mixture.component_count() > 1 && settings_.noise == NoiseModel::shared)
    best_->own_noise_gain = gain_of(fit_em(rows_, own.mixture, per_component_noise()), own);
  best_->one_law_more_gain = gain_of_one_more(own);
  best_->conclude();
}

EmSettings Search::per_component_noise() const {
  EmSettings settings = em_settings(settings_.warm_iterations);
  settings.noise = NoiseModel::per_component;
  return settings;
}

double Search::gain_of_one_more(const EmFit& own) {
  Random random(settings_.seed);
  double gain = FitEvidence::not_asked;
  for (const Mixture& start :
       random_starts(tensor_, own.mixture.component_count() + 1, richer_starts, random)) {
    gain = std::max(gain, gain_of(settled(start), own));
    if (gain > limits::beyond_doubt) break;
  }
  return gain;
}

double Search::gain_of(const EmFit& richer, const EmFit& own) const {
  const double rows = examiner_.sample_rows();
  const double least_weight = std::ranges::min(richer.mixture.weights);
  const auto [narrowest, widest] = std::ranges::minmax(richer.mixture.noise_variances);
  // A line through as many rows as it has coefficients always fits: twice as many must bear it out.
  const double fewest = 2.0 * static_cast<double>(sample_.feature_count + 1);
  if (least_weight * rows < fewest || narrowest < 1e-4 * widest) return FitEvidence::not_asked;
  const bool unequal = narrowest < widest;
  const auto parameters =
      static_cast<double>(parameter_count(richer.mixture.component_count(), sample_.feature_count,
                                          unequal ? NoiseModel::per_component : settings_.noise) -
                          parameters_);
  const double gain = 2.0 * rows * (richer.mean_log_likelihood - own.mean_log_likelihood);
  return gain - parameters * std::log(rows);
}

const RowBlocks& Search::thin_rows() {
  if (!thin_rows_) thin_rows_.emplace(every(sample_, thin_stride(sample_.size())));
  return *thin_rows_;
}

SwapSettings Search::swap_settings() const {
  SwapSettings swaps{.em = em_settings(settings_.warm_iterations)};
  swaps.em.extrapolated = true;
  return swaps;
}

std::vector<EmFit> Search::improved(std::vector<EmFit> optima) {
  if (component_count_ < many_laws || optima.empty()) return optima;
  Random random(settings_.seed + seen_.size());
  EmFit best = LawSwaps(rows_, swap_settings(), random)
                   .improved(optima.front(), likeliest_is_answer() ? 2 * patience() : patience(),
                             std::numeric_limits<double>::infinity());
  examiner_.saw(best.mean_log_likelihood);
  if (is_known(best.mixture, seen_)) return optima;
  seen_.push_back(best.mixture);
  optima.insert(optima.begin(), std::move(best));
  return optima;
}

std::size_t Search::thin_stride(std::size_t rows) const {
  const std::size_t wanted = std::max(settings_.warm_rows, 25 * parameters_);
  return std::max<std::size_t>(1, rows / wanted);
}

EmSettings Search::em_settings(int iterations) const {
  return {.noise = settings_.noise, .max_iterations = iterations, .stop_below_gain = 1e-7};
}

double Search::deviance(const EmFit& fit) const {
  return 2.0 * examiner_.sample_rows() * (examiner_.best_mean_log_likelihood() - fit.mean_log_likelihood);
}

double Search::plausible_deviance() const {
  const double expected = static_cast<double>(parameters_);
  return expected + 5.0 * std::sqrt(2.0 * expected);
}

std::vector<EmFit> Search::warmed(const std::vector<Mixture>& starts) {
  std::vector<EmFit> result;
  for (const Mixture& start : starts) {
    const EmFit rough = fit_em(thin_rows(), start, em_settings(settings_.warm_iterations));
    if (rough.converged && is_known(rough.mixture, rough_seen_)) continue;  // leads where that one led
    if (rough.converged) rough_seen_.push_back(rough.mixture);
    EmFit full = fit_em(rows_, rough.mixture, em_settings(settings_.warm_iterations / 2));
    examiner_.saw(full.mean_log_likelihood);
    if (is_known(full.mixture, seen_)) continue;
    seen_.push_back(full.mixture);
    result.push_back(std::move(full));
  }
  std::ranges::stable_sort(result, [](const EmFit& one, const EmFit& two) {
    return one.mean_log_likelihood > two.mean_log_likelihood;
  });
  std::erase_if(result, [&](const EmFit& fit) {
    return deviance(fit) > hopeless_deviance * static_cast<double>(parameters_);
  });
  return result;
}

bool Search::is_known(const Mixture& mixture, const std::vector<Mixture>& seen) const {
  return std::ranges::any_of(
      seen, [&](const Mixture& other) { return same_optimum(mixture, other, second_moment_); });
}

bool Search::only_sample_complains() const noexcept {
  return !accepted() && last_complaints_.any() && !last_complaints_.distance;
}

void Search::refine_with_sample(const Mixture& optimum, const Mixture& start) {
  const auto prior = sample_prior(optimum, sample_, settings_.noise);
  if (!prior) return;
  if (sample_is_stream()) return take_optimum(optimum, *prior);
  refine_from(start, highest_response_power, 3, &*prior);
}

void Search::take_optimum(const Mixture& optimum, const SamplePrior& known) {
  auto outcome =
      fit_conditions(conditions_, optimum, {.noise = settings_.noise, .rounds = 0, .prior = &known});
  ++tried_;
  if (!outcome) return;
  RefinedFit fit = std::move(outcome).value();
  fit.information = known.information;
  const DenseMatrix covariance = covariance_from(fit.information);
  for (std::size_t i = 0; i < parameters_; ++i)
    fit.standard_errors[i] = std::sqrt(std::max(covariance(i, i), 0.0));
  compare(std::move(fit));
}

void Search::climb_from(const Mixture& start) {
  const EmFit end = fit_em(rows_, start, swap_settings().em);
  examiner_.saw(end.mean_log_likelihood);
  const auto known = sample_prior(end.mixture, sample_, settings_.noise);
  if (known) take_optimum(end.mixture, *known);
}

void Search::refine_from(const Mixture& start, int highest_power, int rounds, const SamplePrior* prior) {
  last_complaints_ = {};
  if (conditions_.size(highest_power) < parameters_) return;
  if (likeliest_is_answer() && highest_power == highest_response_power) return climb_from(start);
  ConditionFitSettings how{
      .noise = settings_.noise, .highest_power = highest_power, .rounds = rounds, .prior = prior};
  if (rounds == 1) how.settled_below = settled_previous;
  if (best_) how.give_up_above = hopeless_distance * best_->distance;
  auto outcome = fit_conditions(conditions_, start, how);
  ++tried_;
  if (outcome) compare(std::move(outcome).value());
}

void Search::compare(RefinedFit fit) {
  examiner_.examine(fit);
  last_complaints_ = fit.complaints;
  fit.starts_tried = tried_;
  const auto same = [&](const RefinedFit& other) {
    return same_optimum(fit.mixture, other.mixture, second_moment_);
  };
  if (fit.accepted && std::ranges::none_of(accepted_, same)) accepted_.push_back(fit);
  if (best_ && sample_is_stream()) examiner_.examine(*best_);  // likelier optima may have been met since
  if (!best_ || beats(fit, *best_)) best_ = std::move(fit);
}

bool Search::beats(const RefinedFit& one, const RefinedFit& two) const {
  if (one.accepted != two.accepted) return one.accepted;
  if (!one.accepted || sample_is_stream()) return one.deviance < two.deviance;
  if (one.condition_count != two.condition_count) return one.condition_count > two.condition_count;
  return one.distance < two.distance;
}

}  // namespace mixstream
