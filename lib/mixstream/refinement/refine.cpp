#include "mixstream/refinement/refine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "mixstream/likelihood/em.hpp"
#include "mixstream/likelihood/law_swaps.hpp"
#include "mixstream/likelihood/likelihood_gain.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/refinement/conditions.hpp"
#include "mixstream/refinement/fit_conditions.hpp"
#include "mixstream/refinement/hausman.hpp"
#include "mixstream/refinement/judge.hpp"
#include "mixstream/refinement/sample_prior.hpp"
#include "mixstream/refinement/standard_errors.hpp"
#include "mixstream/refinement/starts.hpp"

namespace mixstream {
namespace {

constexpr int fallback_power = 3;
// As if 25 rows carried a variance: with a sample of 5,000, bounded features stay far below, Gaussian ones do
// not.
constexpr double largest_variance_error = 0.2;
constexpr double least_second_opinion = 1e-3;  // p of J of lower order, which is asked after J has complained
constexpr double beyond_doubt = 10.0;          // of BIC, by which a richer model must win
constexpr int few_iterations = 10;
constexpr double settled_previous = 3.0;    // standard errors from the previous fit: its weights still serve
constexpr double hopeless_deviance = 50.0;  // per parameter: such a start lies in a wrong valley
constexpr double hopeless_distance = 20.0;  // times the best J so far
// Were the rival right, J would exceed the fit's by so much, or its likelihood fall below by so much of its
// standard error, in fewer than one stream in a million, or in a thousand.
constexpr double near_distance = 25.0;
constexpr double near_deviations = 3.0;
constexpr double hopeless_deviations = 6.0;
constexpr double same_likelihood = 1.0;  // nats of the sample: EM has not quite settled

RowTable every(const RowTable& rows, std::size_t stride) {
  RowTable thin{rows.feature_count, {}, {}, {}};
  for (std::size_t i = 0; i < rows.size(); i += stride) thin.add(rows.row(i));
  return thin;
}

/// One search for an accepted fit: what all its starts share.
class Search {
 public:
  Search(const MomentTensor& tensor, const RowTable& sample, std::size_t component_count,
         const RefineSettings& settings)
      : tensor_(tensor),
        sample_(sample),
        settings_(settings),
        component_count_(component_count),
        parameters_(parameter_count(component_count, sample.feature_count, settings.noise)),
        second_moment_(tensor.view(0, 1, 1)),
        conditions_(tensor, sample, choose_conditions(tensor.layout(), settings.largest_condition_count)),
        judge_(tensor, sample),
        rows_(sample) {}

  std::size_t condition_count() const noexcept { return conditions_.size(); }
  std::size_t parameter_count_needed() const noexcept { return parameters_; }
  bool accepted() const noexcept { return best_ && best_->accepted; }

  /// The best fit there is, with J of the previous one beside it.
  std::optional<RefinedFit> best() const {
    std::optional<RefinedFit> result = best_;
    if (result && previous_ && previous_->condition_count == result->condition_count)
      result->previous_distance = previous_->distance;
    return result;
  }

  /// Straight from the previous fit: its weights are nearly right already, so one round does.
  void try_previous(const Mixture& previous) {
    const EmFit nearby = fit_em(rows_, previous, em_settings(few_iterations));
    judge_.saw(nearby.mean_log_likelihood);
    refine_from(previous, highest_response_power, 1);
    if (best_) previous_ = {best_->start_distance, best_->condition_count};
    if (only_sample_complains()) refine_with_sample(nearby.mixture, previous);
  }

  /// From EM's optima, likeliest first, until one is accepted and no other is as likely. Then from where EM
  /// has hardly begun: on few rows it can leave the right valley that many rows would show. With two laws
  /// EM's optima have been enough.
  void try_batch(std::vector<Mixture> starts) {
    for (Mixture& start : starts) {
      start = tamed(tensor_, std::move(start), settings_.noise == NoiseModel::known);
    }
    for (const EmFit& start : improved(warmed(starts))) {
      if (accepted() && deviance(start) > plausible_deviance()) break;
      refine_from(start.mixture, highest_response_power, 3);
      if (only_sample_complains()) refine_with_sample(start.mixture, start.mixture);
    }
    for (const Mixture& start : starts) {
      if (accepted() && start.component_count() <= 2) return;
      refine_from(fit_em(rows_, start, em_settings(few_iterations)).mixture, highest_response_power, 3);
    }
  }

  /// Where few extreme rows carry the moments of order six, the sample cannot know how far those stray, and J
  /// of a right fit may be anything. Then the laws are refined by moments of lower order, whose J decides.
  void try_lower_order() {
    if (!best_ || accepted() || !best_->complaints.distance) return;
    if (conditions_.variance_error(best_->mixture) < largest_variance_error) return;
    struct LowerOrder {
      ConditionSet set;
      int highest_power;
    };
    for (const auto& [set, power] : {LowerOrder{{{2, 2, 1, 0, 0}}, 4}, LowerOrder{{{2, 2, 2, 1, 0}}, 5}}) {
      const Conditions lower(tensor_, sample_, set);
      if (lower.size(power) <= parameters_) continue;
      auto outcome =
          fit_conditions(lower, best_->mixture, {.noise = settings_.noise, .highest_power = power});
      if (!outcome || outcome.value().dof == 0) continue;
      RefinedFit& fit = outcome.value();
      judge_.judge(fit);
      fit.lower_order = true;
      fit.starts_tried = ++tried_;
      if (fit.accepted && fit.p_value > least_second_opinion) best_ = std::move(fit);
      return;
    }
  }

  /// Powers of y above the third bring the noise's fourth moment in: without them its shape matters less.
  /// Where they did no harm after all, the whole set agrees from there.
  void try_fall_back() {
    if (!best_ || accepted() || !best_->complaints.distance) return;
    refine_from(Mixture(best_->mixture), fallback_power, 3);
    if (accepted()) refine_from(Mixture(best_->mixture), highest_response_power, 3);
  }

  /// While the sample holds every row, it knows more than J, for which those are few: whether noise of each
  /// law's own, or one law more, explains them far better.
  void compare_with_richer() {
    if (!accepted() || settings_.noise == NoiseModel::known) return;
    if (!sample_is_stream()) return;
    const EmFit own = settled(best_->mixture);
    best_->complaints.noise = own.mixture.component_count() > 1 && settings_.noise == NoiseModel::shared &&
                              explains_better(own, fit_em(rows_, own.mixture, per_component_noise()));
    if (!best_->complaints.noise) best_->complaints.count = one_more_explains_better(own);
    best_->accepted = !best_->complaints.any();
  }

  /// Looks around an accepted fit by EM on the sample. With many laws the sample has many optima: one that is
  /// met only once says nothing of those never met, so other starts must come back to it, unless it is
  /// `known` from before. And optima that the sample does not exclude, one swap away or where those starts
  /// end, are refined: the moments of all rows may find them as good.
  void look_around(bool known) {
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
    for (int i = 0; i < settings_.rival_starts || (i < settings_.confirming_starts && !met()); ++i) {
      const EmFit other = climbed(random_start(random), optimum, swaps);
      consider(other, optimum);
      around_.push_back(other.mixture);
      prefer_likelier(optimum);
    }
    judge_.judge(*best_);
    best_->rivals = count_rivals(optimum);
    best_->complaints.search = !met() && !(known && best_->rivals > 0);  // a rival of the known one: a doubt
    best_->accepted = !best_->complaints.any();
  }

 private:
  EmSettings per_component_noise() const {
    EmSettings settings = em_settings(settings_.warm_iterations);
    settings.noise = NoiseModel::per_component;
    return settings;
  }

  bool one_more_explains_better(const EmFit& own) {
    Random random(settings_.seed);
    for (const Mixture& start : random_starts(tensor_, own.mixture.component_count() + 1, 4, random)) {
      if (explains_better(own, settled(start))) return true;
    }
    return false;
  }

  /// By BIC beyond doubt, and not by shrinking onto a few rows.
  bool explains_better(const EmFit& own, const EmFit& richer) const {
    const double rows = judge_.sample_rows();
    const double least_weight = std::ranges::min(richer.mixture.weights);
    const auto [narrowest, widest] = std::ranges::minmax(richer.mixture.noise_variances);
    if (least_weight * rows < 10.0 * static_cast<double>(sample_.feature_count) || narrowest < 1e-4 * widest)
      return false;
    const bool unequal = narrowest < widest;
    const auto parameters =
        static_cast<double>(parameter_count(richer.mixture.component_count(), sample_.feature_count,
                                            unequal ? NoiseModel::per_component : settings_.noise) -
                            parameters_);
    const double gain = 2.0 * rows * (richer.mean_log_likelihood - own.mean_log_likelihood);
    return gain - parameters * std::log(rows) > beyond_doubt;
  }

  /// Few rows of the sample, once a search needs them.
  const RowBlocks& thin_rows() {
    if (!thin_rows_) thin_rows_.emplace(every(sample_, thin_stride(sample_.size())));
    return *thin_rows_;
  }

  EmFit settled(const Mixture& start) { return fit_em(rows_, start, em_settings(settings_.warm_iterations)); }

  SwapSettings swap_settings() const {
    SwapSettings swaps{.em = em_settings(settings_.warm_iterations)};
    swaps.em.extrapolated = true;
    return swaps;
  }

  /// Swaps in a row that may bring nothing before a search ends.
  int patience() const { return static_cast<int>(component_count_ * (component_count_ + 1)); }

  /// The likeliest of EM's optima, and what swaps of its laws lead to.
  std::vector<EmFit> improved(std::vector<EmFit> optima) {
    if (component_count_ < many_laws || optima.empty()) return optima;
    Random random(settings_.seed + seen_.size());
    EmFit best = LawSwaps(rows_, swap_settings(), random)
                     .improved(optima.front(), patience(), std::numeric_limits<double>::infinity());
    judge_.saw(best.mean_log_likelihood);
    if (is_known(best.mixture, seen_)) return optima;
    seen_.push_back(best.mixture);
    optima.insert(optima.begin(), std::move(best));
    return optima;
  }

  Mixture random_start(Random& random) const {
    Mixture start = random_starts(tensor_, component_count_, 1, random).front();
    if (settings_.noise == NoiseModel::known) start.noise_variances = best_->mixture.noise_variances;
    return start;
  }

  /// From a start of its own towards the optimum's likelihood, by EM and swaps.
  EmFit climbed(const Mixture& start, const EmFit& optimum, LawSwaps& swaps) {
    const EmFit rough = fit_em(thin_rows(), start, em_settings(settings_.warm_iterations));
    return swaps.improved(settled(rough.mixture), patience(),
                          optimum.mean_log_likelihood - same_likelihood / judge_.sample_rows());
  }

  double deviations_below(const EmFit& other, const EmFit& optimum) const {
    return likelihood_gain(optimum.mixture, other.mixture, sample_).deviations();
  }

  /// Refines from another optimum of the sample, unless that is known or hopeless.
  void consider(const EmFit& other, EmFit& optimum) {
    judge_.saw(other.mean_log_likelihood);
    if (refined_around_ == settings_.rival_refinements || is_known(other.mixture, considered_) ||
        same_optimum(other.mixture, optimum.mixture, second_moment_) ||
        deviations_below(other, optimum) > hopeless_deviations)
      return;
    considered_.push_back(other.mixture);
    ++refined_around_;
    const double distance = best_->distance;
    refine_from(other.mixture, highest_response_power, 3);
    if (best_->distance != distance) optimum = settled(best_->mixture);
  }

  /// From the best fit, beyond its errors.
  bool lies_apart(const Mixture& mixture) const {
    return hausman_distance(*best_, mixture) > hausman_limit(parameters_);
  }

  std::ptrdiff_t times_met(const EmFit& optimum) const {
    return std::ranges::count_if(
        around_, [&](const Mixture& end) { return same_optimum(end, optimum.mixture, second_moment_); });
  }

  /// Accepted fits whose J is nearly the least.
  std::vector<RefinedFit> near_in_distance() const {
    const auto excess = [](const RefinedFit& fit) { return fit.distance - static_cast<double>(fit.dof); };
    double least = excess(*best_);
    for (const RefinedFit& fit : accepted_) least = std::min(least, excess(fit));
    std::vector<RefinedFit> near = accepted_;
    std::erase_if(near, [&](const RefinedFit& fit) { return excess(fit) > least + near_distance; });
    return near;
  }

  /// Where J hardly decides, the sample does.
  void prefer_likelier(EmFit& optimum) {
    for (RefinedFit& fit : near_in_distance()) {
      const EmFit other = settled(fit.mixture);
      if (!(deviations_below(other, optimum) < -near_deviations)) continue;
      best_ = std::move(fit);
      optimum = other;
    }
  }

  /// Accepted fits that lie apart from the best beyond its errors, and that neither J nor the sample
  /// excludes.
  int count_rivals(const EmFit& optimum) {
    int count = 0;
    for (RefinedFit& fit : near_in_distance()) {
      if (!lies_apart(fit.mixture)) continue;
      judge_.judge(fit);  // likelier optima may have been met since
      const EmFit other = settled(fit.mixture);
      count += fit.accepted && !same_optimum(other.mixture, optimum.mixture, second_moment_) &&
               deviations_below(other, optimum) < near_deviations;
    }
    return count;
  }

  std::size_t thin_stride(std::size_t rows) const {
    const std::size_t wanted = std::max(settings_.warm_rows, 25 * parameters_);
    return std::max<std::size_t>(1, rows / wanted);
  }

  EmSettings em_settings(int iterations) const {
    return {.noise = settings_.noise, .max_iterations = iterations, .stop_below_gain = 1e-7};
  }

  double deviance(const EmFit& fit) const {
    return 2.0 * judge_.sample_rows() * (judge_.best_mean_log_likelihood() - fit.mean_log_likelihood);
  }

  double plausible_deviance() const {
    const double expected = static_cast<double>(parameters_);
    return expected + 5.0 * std::sqrt(2.0 * expected);
  }

  /// EM on few rows from every start, then on all rows from each optimum that is new; those that are not
  /// hopeless, best likelihood first.
  std::vector<EmFit> warmed(const std::vector<Mixture>& starts) {
    std::vector<EmFit> result;
    for (const Mixture& start : starts) {
      const EmFit rough = fit_em(thin_rows(), start, em_settings(settings_.warm_iterations));
      if (rough.converged && is_known(rough.mixture, rough_seen_)) continue;  // leads where that one led
      if (rough.converged) rough_seen_.push_back(rough.mixture);
      EmFit full = fit_em(rows_, rough.mixture, em_settings(settings_.warm_iterations / 2));
      judge_.saw(full.mean_log_likelihood);
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

  bool is_known(const Mixture& mixture, const std::vector<Mixture>& seen) const {
    return std::ranges::any_of(
        seen, [&](const Mixture& other) { return same_optimum(mixture, other, second_moment_); });
  }

  bool only_sample_complains() const noexcept {
    return !accepted() && last_complaints_.any() && !last_complaints_.distance;
  }

  /// The moments agree but leave something open that the sample closes: so let it, near EM's optimum there.
  void refine_with_sample(const Mixture& optimum, const Mixture& start) {
    const auto prior = sample_prior(optimum, sample_, settings_.noise);
    if (!prior) return;
    if (sample_is_stream()) return take_optimum(optimum, *prior);
    refine_from(start, highest_response_power, 3, &*prior);
  }

  /// EM's optimum as it is, held against the moments of the same rows: no estimate knows more of them.
  void take_optimum(const Mixture& optimum, const SamplePrior& known) {
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

  void refine_from(const Mixture& start, int highest_power, int rounds, const SamplePrior* prior = nullptr) {
    last_complaints_ = {};
    if (conditions_.size(highest_power) < parameters_) return;
    ConditionFitSettings how{
        .noise = settings_.noise, .highest_power = highest_power, .rounds = rounds, .prior = prior};
    if (rounds == 1) how.settled_below = settled_previous;
    if (best_) how.give_up_above = hopeless_distance * best_->distance;
    auto outcome = fit_conditions(conditions_, start, how);
    ++tried_;
    if (outcome) compare(std::move(outcome).value());
  }

  void compare(RefinedFit fit) {
    judge_.judge(fit);
    last_complaints_ = fit.complaints;
    fit.starts_tried = tried_;
    const auto same = [&](const RefinedFit& other) {
      return same_optimum(fit.mixture, other.mixture, second_moment_);
    };
    if (fit.accepted && std::ranges::none_of(accepted_, same)) accepted_.push_back(fit);
    if (!best_ || beats(fit, *best_)) best_ = std::move(fit);
  }

  /// Accepted before rejected; all conditions before some; then, of accepted fits, the lesser J, which all
  /// rows decide; of rejected ones, and while the sample holds every row, the likelier on the sample.
  bool beats(const RefinedFit& one, const RefinedFit& two) const {
    if (one.accepted != two.accepted) return one.accepted;
    if (!one.accepted || sample_is_stream()) return one.deviance < two.deviance;
    if (one.condition_count != two.condition_count) return one.condition_count > two.condition_count;
    return one.distance < two.distance;
  }

  /// Whether the sample still holds every row.
  bool sample_is_stream() const noexcept { return tensor_.effective_rows < 1.001 * judge_.sample_rows(); }

  const MomentTensor& tensor_;
  const RowTable& sample_;
  const RefineSettings& settings_;
  std::size_t component_count_;
  std::size_t parameters_;
  DenseMatrix second_moment_;
  Conditions conditions_;
  Judge judge_;
  RowBlocks rows_;
  std::optional<RowBlocks> thin_rows_;
  std::vector<Mixture> seen_;        // optima of EM on all rows of the sample
  std::vector<Mixture> rough_seen_;  // and on few
  std::vector<Mixture> around_;      // where EM ended while looking around, one for each start
  std::vector<Mixture> considered_;  // and from where the moments were refined meanwhile
  std::vector<RefinedFit> accepted_;
  std::optional<RefinedFit> best_;
  struct Previous {
    double distance;
    std::size_t condition_count;
  };
  std::optional<Previous> previous_;
  Complaints last_complaints_;
  int tried_ = 0;
  int refined_around_ = 0;
};

Verdict check_input(const MomentTensor& tensor, const RowTable& sample, std::size_t component_count) {
  if (component_count == 0) return Refusal{Reason::bad_settings, "a mixture needs at least one component"};
  if (sample.feature_count != static_cast<std::size_t>(tensor.layout().feature_count)) {
    return Refusal{Reason::wrong_shape, "the sample's rows do not have the tensor's number of features"};
  }
  if (sample.size() < 2 || !(tensor.effective_rows > 0.0)) {
    return Refusal{Reason::too_few_rows, "refinement needs rows; absorb some first"};
  }
  return std::monostate{};
}

/// Given starts, filled up to `number` with random ones, which take the known noise where there is one.
std::vector<Mixture> filled_up(const MomentTensor& tensor, std::size_t component_count,
                               std::span<const Mixture> starts, int number,
                               const std::vector<double>& known_noise, Random& random) {
  std::vector<Mixture> result(starts.begin(), starts.end());
  const auto wanted = static_cast<std::size_t>(number);
  if (result.size() >= wanted) return result;
  for (Mixture& start : random_starts(tensor, component_count, wanted - result.size(), random)) {
    if (!known_noise.empty()) start.noise_variances = known_noise;
    result.push_back(std::move(start));
  }
  return result;
}

Outcome<RefinedFit> searched(const MomentTensor& tensor, const RowTable& sample, std::size_t component_count,
                             std::span<const Mixture> starts, const RefineSettings& settings,
                             const Mixture* previous) {
  Search search(tensor, sample, component_count, settings);
  if (search.condition_count() < search.parameter_count_needed()) {
    return Refusal{
        Reason::not_identifiable,
        "there are more parameters than independent moments; take fewer components or more features"};
  }
  if (previous) search.try_previous(*previous);
  const bool known = search.accepted() && settings.previous_was_met;
  std::vector<double> known_noise;
  if (settings.noise == NoiseModel::known) {
    known_noise = previous ? previous->noise_variances : starts.front().noise_variances;
  }
  Random random(settings.seed);
  bool found = known;
  for (const int number : {settings.first_starts, settings.more_starts}) {
    if (found) break;
    search.try_batch(filled_up(tensor, component_count, starts, number, known_noise, random));
    if (settings.fall_back) search.try_fall_back();
    search.try_lower_order();
    found = search.accepted();
    starts = {};
  }
  if (search.accepted() && component_count >= many_laws && (!known || settings.seek_rivals))
    search.look_around(known);
  search.compare_with_richer();
  std::optional<RefinedFit> best = search.best();
  if (!best) return Refusal{Reason::numerical, "no start led to a finite fit; look for outliers"};
  return *std::move(best);
}

}  // namespace

Outcome<RefinedFit> refine(const MomentTensor& tensor, const RowTable& sample, std::size_t component_count,
                           std::span<const Mixture> starts, const RefineSettings& settings,
                           const Mixture* previous) {
  const Verdict input = check_input(tensor, sample, component_count);
  if (!input) return input.refusal();
  if (settings.noise == NoiseModel::known && starts.empty() && !previous) {
    return Refusal{Reason::bad_settings, "with known noise a start must carry the noise variances"};
  }
  try {
    return searched(tensor, sample, component_count, starts, settings, previous);
  } catch (const std::runtime_error& error) {
    return Refusal{Reason::numerical,
                   std::string(error.what()) + "; look for outliers or features without scale"};
  }
}

}  // namespace mixstream
