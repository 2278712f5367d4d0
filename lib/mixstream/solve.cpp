#include "mixstream/solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <new>
#include <numeric>
#include <utility>

#include "mixstream/likelihood/em_search.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/likelihood/matching.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/paper_verdict.hpp"
#include "mixstream/refinement/component_count.hpp"
#include "mixstream/refinement/outliers.hpp"
#include "mixstream/refinement/standard_errors.hpp"
#include "mixstream/regression/linear_algebra.hpp"
#include "mixstream/regression/systems.hpp"
#include "mixstream/solve_modes.hpp"
#include "mixstream/tensor/spectral.hpp"
#include "mixstream/verdict_words.hpp"
#include "mixstream/yield_point.hpp"

namespace mixstream {
namespace {

/// Scratch that grows to the largest (d, k) this thread has met. A solve takes it away and puts it back: two
/// may be under way in one thread, in slices by turns.
SpectralWorkspace& spare_workspace() {
  thread_local SpectralWorkspace workspace;
  return workspace;
}

constexpr std::uint32_t every_bin = (1U << bin_count) - 1;
constexpr double beyond_chance = 3.0;  // standard errors by which weights or coefficients differ

/// Whether law a stands before law b in a first fit: the heavier one; of weights that chance may have made
/// different, the one with the larger coefficient, the first that differs beyond chance deciding.
bool stands_before(const Mixture& mixture, const MixtureErrors& errors, std::size_t a, std::size_t b) {
  const auto gap = [](double one, double two, double error_one, double error_two) {
    const double difference = one - two;
    return std::abs(difference) > beyond_chance * std::hypot(error_one, error_two) ? difference : 0.0;
  };
  const double heavier = gap(mixture.weights[a], mixture.weights[b], errors.weights[a], errors.weights[b]);
  if (heavier != 0.0) return heavier > 0.0;
  const std::size_t d = mixture.feature_count;
  for (std::size_t j = 0; j < d; ++j) {
    const double larger = gap(mixture.law(a)[j], mixture.law(b)[j], errors.coefficients[a * d + j],
                              errors.coefficients[b * d + j]);
    if (larger != 0.0) return larger > 0.0;
  }
  return mixture.weights[a] > mixture.weights[b];
}

/// One solve at work: what is read of the state once, and the solution that grows.
class Solver {
 public:
  Solver(const MomentState& state, const SolveSettings& settings, const Mixture* last,
         const PolishDriver* polish, SolveDetail detail, const PaperStart* paper = nullptr)
      : state_(state),
        settings_(settings),
        last_(last),
        polish_(polish),
        detail_(detail),
        paper_(paper),
        layout_(state.settings().layout),
        tensor_(state.moments()),
        sample_(state.sample()) {
    solution_.sample = to_pilot(sample_.rows, layout_, tensor_.pilot());
    solution_.bins = every_bin;
  }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;
  ~Solver() { spare_workspace() = std::move(workspace_); }

  Solution run() {
    describe_stream();
    yield_point();
    if (!enough_rows() || !distinct_features()) return std::move(solution_);
    try {
      run_method();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {  // a factorisation that met numbers it cannot take
      solution_.mixture.reset();
      solution_.refined.reset();
      report().components.clear();
      report().status = FitStatus::poor_fit;
      report().words = fmt::format("the solver broke down ({}): the data may be degenerate.", error.what());
    }
    yield_point();
    if (detail_ == SolveDetail::fit) return std::move(solution_);
    if (solution_.mixture && !report().log_likelihood) describe_sample_fit();
    report().identifiability =
        diagnose(tensor_, solution_.mixture ? &*solution_.mixture : last_, settings_.feature_names);
    return std::move(solution_);
  }

 private:
  void run_method() {
    switch (settings_.method) {
      case FitMethod::standard:
        if (shape_of(settings_, layout_).is_plain())
          refine_moments();
        else
          follow_modes();
        break;
      case FitMethod::paper:
        follow_paper();
        break;
      case FitMethod::em:
        run_em();
        break;
    }
  }

  Report& report() { return solution_.report; }

  void describe_stream() {
    Report& r = report();
    r.rows = state_.row_count();
    r.effective_rows = tensor_.effective_rows;
    r.component_count = settings_.component_count;
    r.features = settings_.feature_names;
    r.response = state_.settings().response;
    r.method = settings_.method;
    r.noise_source = settings_.noise == NoiseModel::known ? "known" : "estimated";
  }

  bool enough_rows() {
    const auto d = static_cast<std::size_t>(layout_.feature_count);
    const std::size_t k = std::max<std::size_t>(settings_.component_count, 1);
    const std::size_t needed = 2 * parameter_count(k, d, settings_.noise) + 10;
    if (report().effective_rows >= static_cast<double>(needed)) return true;
    report().status = FitStatus::too_few_rows;
    report().words = fmt::format("{:.0f} row{} too few for {} law{} of {} feature{}: at least {} are needed.",
                                 report().effective_rows, report().effective_rows == 1.0 ? " is" : "s are", k,
                                 k == 1 ? "" : "s", d, d == 1 ? "" : "s", needed);
    return false;
  }

  /// Sigma_1 must be regular for any method: two equal features cannot be told apart.
  bool distinct_features() {
    if (null_count_of(tensor_.view(0, 1, 1), rank_cutoff) == 0) return true;
    report().identifiability = diagnose(tensor_, last_, settings_.feature_names);
    const PowerDiagnosis& first = report().identifiability.powers[0];
    report().status = FitStatus::not_identifiable;
    report().words = "the features are linearly dependent on every row (" + describe(first.dependences) +
                     "): drop one of them.";
    return false;
  }

  SpectralSettings spectral_settings() const {
    SpectralSettings spectral;
    spectral.noise_variance = settings_.noise_variance;
    spectral.noise_third = settings_.noise_third;
    spectral.second_penalty = settings_.second_penalty;
    spectral.third_penalty = settings_.third_penalty;
    spectral.objective = settings_.objective;
    spectral.penalty = settings_.penalty;
    spectral.allow_singular = settings_.allow_singular;
    spectral.feature_names = settings_.feature_names;
    spectral.seed = settings_.seed;
    return spectral;
  }

  void refuse(const Refusal& refusal) {
    report().status =
        refusal.reason == Reason::too_few_rows ? FitStatus::too_few_rows : FitStatus::not_identifiable;
    report().words = refusal.text;
  }

  /// The default method's laws, for what theory asks of the penalties.
  std::optional<Mixture> plugged_in() const {
    SolveSettings standard = settings_;
    standard.method = FitMethod::standard;
    return Solver(state_, standard, last_, nullptr, SolveDetail::fit).run().mixture;
  }

  Outcome<SpectralFit> paper_fit() {
    const auto k = static_cast<int>(settings_.component_count);
    SpectralSettings spectral = spectral_settings();
    if (spectral.penalty == PaperPenalty::theory) spectral.plugged_in = plugged_in();
    if (state_.settings().memory.kind != Memory::Kind::three_parts)
      return paper_estimate(tensor_, k, spectral, workspace_, paper_);
    const MomentTensor first = state_.part_moments(0);
    const MomentTensor second = state_.part_moments(1);
    const MomentTensor third = state_.part_moments(2);
    return paper_estimate({first, second, third}, k, spectral, workspace_, paper_);
  }

  void follow_paper() {
    Outcome<SpectralFit> fit = paper_fit();
    if (!fit) return refuse(fit.refusal());
    report().stage = FitStage::spectral;
    const PaperVerdict verdict = paper_verdict(fit.value());
    report().status = verdict.status;
    report().words = verdict.words;
    report().noise_source = fit.value().noise_source == NoiseSource::known ? "known" : "estimated";
    report().spectral = fit.value();
    take(fit.value().mixture, nullptr);
  }

  void run_em() {
    EmSettings em;
    em.noise = settings_.noise;
    Outcome<EmSearch> search = settings_.noise == NoiseModel::known
                                   ? best_of_starts(solution_.sample, known_noise_starts(), em)
                                   : best_of_random_starts(solution_.sample, settings_.component_count,
                                                           settings_.em_starts, settings_.seed, em);
    if (!search) return refuse(search.refusal());
    report().stage = FitStage::em;
    report().status = search.value().best_is_spurious ? FitStatus::poor_fit : FitStatus::ok;
    report().words =
        fmt::format("EM on {} sampled rows from {} starts{}.", solution_.sample.size(), settings_.em_starts,
                    search.value().best_is_spurious ? ": every start ended in a spurious optimum" : "");
    take(to_raw(search.value().best.mixture, layout_, tensor_.pilot()), nullptr);
  }

  std::vector<Mixture> known_noise_starts() const {
    Random random(settings_.seed);
    std::vector<Mixture> starts;
    for (int i = 0; i < settings_.em_starts; ++i) {
      starts.push_back(random_em_start(settings_.component_count,
                                       static_cast<std::size_t>(layout_.feature_count), random));
      std::ranges::fill(starts.back().noise_variances, pilot_noise());
    }
    return starts;
  }

  double pilot_noise() const {  // the known noise variance in pilot coordinates
    const double scale = tensor_.pilot().scale.back();
    return settings_.noise_variance.value_or(1.0) / (scale * scale);
  }

  std::vector<Mixture> spectral_starts() {
    Outcome<SpectralFit> fit =
        rank_start(tensor_, static_cast<int>(settings_.component_count), spectral_settings(), workspace_);
    if (!fit) return {};
    report().spectral = fit.value();
    Mixture start = to_pilot(fit.value().mixture, layout_, tensor_.pilot());
    if (settings_.noise == NoiseModel::known) std::ranges::fill(start.noise_variances, pilot_noise());
    return {std::move(start)};
  }

  void refine_moments() {
    const BinnedMoments binned = by_magnitude();
    yield_point();
    std::vector<Mixture> starts;
    if (settings_.component_count == 0 && !choose_components(binned, starts)) return;
    for (Mixture& start : spectral_starts()) starts.push_back(std::move(start));
    BinSettings refinement;
    refinement.largest_tail_share = settings_.guard ? refinement.largest_tail_share : 0.0;
    refinement.refine.noise = settings_.noise;
    refinement.refine.seed = settings_.seed;
    if (polish_ != nullptr) {
      refinement.likely_bins = std::popcount(polish_->schedule().bins);
      refinement.refine.seek_rivals = polish_->should_check(state_.row_count());
      refinement.refine.previous_was_met = !polish_->tentative();
    }
    const std::optional<Mixture> previous = previous_fit();
    Outcome<BinnedFit> fit = refine_with_bins(binned, settings_.component_count, starts, refinement,
                                              previous ? &*previous : nullptr);
    if (!fit) return refuse(fit.refusal());
    solution_.refined = std::move(fit.value().fit);
    solution_.bins = (1U << fit.value().bins_used) - 1;
    solution_.sample = sample_of_bins(binned, fit.value().bins_used);
    report().set_aside = fit.value().rows_set_aside;
    describe_refined(*solution_.refined, fit.value().tail_suspected);
  }

  /// Rows in order: the moments and EM on the sample say where to begin, the polish of modes what is so.
  void follow_modes() {
    const ModeDriver* modes = polish_ != nullptr ? polish_->modes() : nullptr;
    const bool begun = modes != nullptr && modes->polish() != nullptr;
    if (!begun || polish_->should_check(state_.row_count())) {
      std::vector<Mixture> starts = spectral_starts();
      if (std::optional<Mixture> previous = previous_laws(modes)) starts.push_back(std::move(*previous));
      solution_.laws = likely_laws(tensor_, solution_.sample, std::move(starts), settings_.component_count,
                                   settings_.noise, settings_.seed);
    }
    if (begun) return describe_polish(*modes, *modes->polish(), modes->too_many_laws());
    std::optional<ModeDriver::Preview> preview;
    std::optional<Mixture> labels;
    if (last_ != nullptr) labels = to_pilot(*last_, layout_, tensor_.pilot());
    if (modes != nullptr) {
      preview =
          modes->preview(solution_.laws, solution_.sample, state_.row_count(), labels ? &*labels : nullptr);
    }
    if (preview) return describe_polish(*modes, preview->polish, preview->too_many_laws);
    report().status = FitStatus::too_few_rows;
    report().words =
        "this model needs rows in their order, and the state holds none: read the rows again, or solve it "
        "with "
        "--modes independent and Gaussian noise.";
  }

  std::optional<Mixture> previous_laws(const ModeDriver* modes) const {
    std::optional<Mixture> previous;
    if (modes != nullptr && modes->polish() != nullptr)
      previous = modes->polish()->fit().model.laws;
    else if (last_ != nullptr && last_->component_count() == settings_.component_count)
      previous = to_pilot(*last_, layout_, tensor_.pilot());
    if (previous && !is_finite(*previous)) previous.reset();
    return previous;
  }

  void describe_polish(const ModeDriver& modes, const ModePolish& polish, bool too_many_laws) {
    ModeFit fit = polish.fit();
    const ModeShape& shape = polish.shape();
    const bool scattered = fit.dispersion > largest_dispersion(fit);
    if (scattered) {
      for (double& value : fit.covariance.values) value *= fit.dispersion;
    }
    const ModeAnswer answer = answer_of(fit, shape, solution_.sample);
    if (!is_finite(answer.mixture)) throw std::runtime_error("the polish is not finite");
    const MixtureErrors errors =
        raw_mixture_errors(answer.mixture, shape.noise, answer.covariance, layout_, tensor_.pilot());
    report().stage = FitStage::polished;
    std::vector<std::size_t> order(shape.component_count);
    std::iota(order.begin(), order.end(), std::size_t{0});  // the polish keeps its labels
    take(to_raw(answer.mixture, layout_, tensor_.pilot()), &errors, order);
    describe_modes(fit, shape, order, layout_, tensor_.pilot(), report());
    if (report().modes && modes.chains().size() > 0) {
      const auto now = polish.modes_of(modes.chains().newest());
      for (const std::size_t h : order) report().modes->now.push_back(now[h]);
      const ChainState& chains = modes.chains().state();
      report().modes->chains_cut = chains.cut_by_gap + chains.ran_back + chains.evicted;
    }
    const double scale = tensor_.pilot().scale.back();
    report().log_likelihood =
        polish.log_likelihood() / static_cast<double>(std::max<std::uint64_t>(polish.rows(), 1)) -
        std::log(scale);
    report().bic = -2.0 * *report().log_likelihood + static_cast<double>(shape.parameters()) *
                                                         std::log(std::max(fit.rows, 1.0)) /
                                                         std::max(fit.rows, 1.0);
    const bool lost = too_many_laws || std::ranges::any_of(fit.visits, [&](double visits) {
                        return visits < static_cast<double>(shape.feature_count + 1);
                      });
    report().status = lost ? FitStatus::lost_component : scattered ? FitStatus::poor_fit : FitStatus::ok;
    report().words = modes_words(report(), fit.dispersion);
  }

  BinnedMoments by_magnitude() const {
    BinnedMoments binned;
    for (std::size_t bin = 0; bin < bin_count; ++bin) {
      yield_point();
      BinMask only{};
      only[bin] = true;
      binned.bins.push_back(state_.moments(only));
      binned.bins.back().row_count = state_.bin_rows()[bin];
    }
    binned.sample = solution_.sample;
    binned.sample_bins.assign(sample_.bins.begin(), sample_.bins.end());
    return binned;
  }

  /// k = auto: by the BIC of the sample without its tail, which would pass for a component of its own.
  bool choose_components(const BinnedMoments& binned, std::vector<Mixture>& starts) {
    ComponentCountSettings choice;
    choice.noise = settings_.noise;
    choice.known_noise_variance = pilot_noise();
    choice.largest = settings_.largest_component_count;
    choice.seed = settings_.seed;
    const bool thin_tail = binned.bins[0].total_weight() > 0.98 * tensor_.total_weight();
    const int bins = settings_.guard && thin_tail ? 1 : static_cast<int>(bin_count);
    Outcome<ComponentCount> chosen =
        choose_component_count(moments_of_bins(binned, bins), sample_of_bins(binned, bins), choice);
    if (!chosen) {
      refuse(chosen.refusal());
      return false;
    }
    settings_.component_count = report().component_count = best_matched(chosen.value());
    for (const ComponentCandidate& candidate : chosen.value().candidates) {
      const bool taken = candidate.component_count == settings_.component_count;
      if (taken) starts.push_back(candidate.mixture);
      std::optional<double> ratio;
      if (candidate.matched && candidate.dof > 0)
        ratio = candidate.distance / static_cast<double>(candidate.dof);
      report().candidates.push_back(
          {candidate.component_count, candidate.mean_log_likelihood, candidate.bic, ratio, taken});
    }
    return true;
  }

  /// Of least BIC among those that the moments can determine at all.
  static std::size_t best_matched(const ComponentCount& chosen) {
    const ComponentCandidate* best = nullptr;
    for (const ComponentCandidate& candidate : chosen.candidates) {
      if (candidate.matched && (best == nullptr || candidate.bic < best->bic)) best = &candidate;
    }
    return best != nullptr ? best->component_count : chosen.component_count;
  }

  /// The best start there is, in pilot coordinates: what the polish says now, or else the last fit.
  std::optional<Mixture> previous_fit() const {
    std::optional<Mixture> previous;
    if (polish_ != nullptr && polish_->polish() != nullptr)
      previous = polish_->polish()->fit().mixture;
    else if (last_ != nullptr)
      previous = to_pilot(*last_, layout_, tensor_.pilot());
    if (!previous || previous->component_count() != settings_.component_count || !is_finite(*previous))
      return {};
    if (settings_.noise == NoiseModel::known) std::ranges::fill(previous->noise_variances, pilot_noise());
    return previous;
  }

  void describe_refined(const RefinedFit& fit, bool tail_suspected) {
    report().stage = FitStage::refined;
    report().moment_test = {fit.distance, fit.dof, fit.p_value, fit.expected_ratio, fit.conditions};
    std::optional<PolishedFit> polished;
    if (sample_.rows.size() == state_.row_count()) {
      polished = likeliest_fit(fit);
      if (polished) {
        solution_.refined->mixture = polished->mixture;
        solution_.refined->information = polished->information;
        solution_.refined->likeliest = true;
      }
    }
    if (!polished && polish_ != nullptr) polished = polish_->fit_to_report(fit, solution_.sample);
    if (polished) report().stage = FitStage::polished;
    const Mixture& mixture = polished ? polished->mixture : fit.mixture;
    const DenseMatrix covariance = covariance_from(polished ? polished->information : fit.information);
    const MixtureErrors errors = raw_mixture_errors(mixture, fit.noise, covariance, layout_, tensor_.pilot());
    const bool parted = fit.accepted && polished && polish_ != nullptr && parts_from_moments(fit, mixture);
    const bool doubted = fit.accepted && in_doubt(fit);
    report().status = fit.accepted && !parted && !doubted ? FitStatus::ok : FitStatus::poor_fit;
    take(to_raw(mixture, layout_, tensor_.pilot()), &errors);
    if (fit.accepted && !doubted && lost_component()) report().status = FitStatus::lost_component;
    report().words = parted                                         ? parted_words(parting(fit, mixture))
                     : doubted                                      ? doubted_words()
                     : report().status == FitStatus::lost_component ? lost_words()
                                                                    : verdict_words(fit, tail_suspected);
  }

  /// Whether other laws were met that the rows do not exclude: by this solve, or, where it did not look, by
  /// the polish's last check.
  bool in_doubt(const RefinedFit& fit) const {
    return fit.rivals > 0 ||
           (polish_ != nullptr && polish_->in_doubt() && !polish_->should_check(state_.row_count()));
  }

  /// The moments of all rows and the scores of all rows are two ways to the same laws, with optima of their
  /// own. Where the two ends differ by far more than their errors, one is wrong, whatever each says of
  /// itself. With y, y^2 and y^3 alone the noise is not Gaussian, and the scores may differ.
  static bool parts_from_moments(const RefinedFit& fit, const Mixture& polished) {
    const bool apart = lies_apart(fit, polished) || found_elsewhere(fit, polished);
    return (apart && !fit.conditions.starts_with("q<=3")) || moments_reject(fit, polished);
  }

  /// While the sample still holds every row, EM from the refined fit is the maximum likelihood estimate
  /// itself.
  std::optional<PolishedFit> likeliest_fit(const RefinedFit& fit) const {
    const EmFit em = fit_em(solution_.sample, fit.mixture, {.noise = fit.noise});
    const RowTable& rows = solution_.sample;
    const double total = std::accumulate(rows.weights.begin(), rows.weights.end(), 0.0);
    if (!is_finite(em.mixture) || is_spurious(em.mixture, total)) return {};
    std::vector<double> parameters = to_parameters(em.mixture, fit.noise);
    std::vector<double> probabilities(em.mixture.component_count());
    std::vector<double> score(parameters.size());
    DenseMatrix information{score.size(), score.size(), std::vector<double>(score.size() * score.size())};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i % 256 == 0) yield_point();
      row_score(em.mixture, rows.row(i), fit.noise, probabilities, score);
      for (std::size_t a = 0; a < score.size(); ++a) {
        for (std::size_t b = 0; b < score.size(); ++b)
          information(a, b) += rows.weights[i] * score[a] * score[b];
      }
    }
    return PolishedFit{em.mixture, std::move(parameters), std::move(information), {}};
  }

  /// A component whose weight is not above its own error, or next to nothing.
  bool lost_component() {
    return std::ranges::any_of(report().components, [](const ComponentReport& component) {
      return component.weight < 2.0 * component.weight_error.value_or(0.0) || component.weight < 1e-6;
    });
  }

  /// Takes a mixture in raw coordinates as the answer, with the last fit's labels, or those of a first fit.
  void take(const Mixture& mixture, const MixtureErrors* errors) {
    take(mixture, errors, labels_for(mixture, errors));
  }

  void take(const Mixture& mixture, const MixtureErrors* errors, std::span<const std::size_t> order) {
    solution_.mixture = relabelled(mixture, order);
    const std::size_t d = mixture.feature_count;
    for (const std::size_t h : order) {
      ComponentReport component;
      component.weight = mixture.weights[h];
      component.coefficients.assign(mixture.law(h).begin(), mixture.law(h).end());
      component.noise_variance = mixture.noise_variances[h];
      if (errors != nullptr) {
        component.weight_error = errors->weights[h];
        const double* first = errors->coefficients.data() + h * d;
        component.coefficient_errors.assign(first, first + d);
        if (settings_.noise != NoiseModel::known) component.noise_variance_error = errors->noise_variances[h];
      }
      report().components.push_back(std::move(component));
    }
  }

  std::vector<std::size_t> labels_for(const Mixture& mixture, const MixtureErrors* errors) const {
    const std::size_t k = mixture.component_count();
    if (last_ != nullptr && last_->component_count() == k) return matching_order(*last_, mixture);
    const MixtureErrors unknown{std::vector<double>(mixture.coefficients.size()), std::vector<double>(k),
                                std::vector<double>(k)};
    std::vector<std::size_t> order(k);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = 0; i < k; ++i) {  // "beyond chance" is no order that a sort could rely on
      for (std::size_t j = i + 1; j < k; ++j) {
        if (stands_before(mixture, errors != nullptr ? *errors : unknown, order[j], order[i]))
          std::swap(order[i], order[j]);
      }
    }
    return order;
  }

  void describe_sample_fit() {
    const double mean = mean_log_likelihood(*solution_.mixture, sample_.rows);
    const double rows = std::accumulate(sample_.rows.weights.begin(), sample_.rows.weights.end(), 0.0);
    const auto d = static_cast<std::size_t>(layout_.feature_count);
    const auto parameters =
        static_cast<double>(parameter_count(settings_.component_count, d, settings_.noise));
    report().log_likelihood = mean;
    report().bic = -2.0 * mean + parameters * std::log(rows) / rows;
  }

  const MomentState& state_;
  SolveSettings settings_;  // with the number of components, once it is chosen
  const Mixture* last_;
  const PolishDriver* polish_;
  SolveDetail detail_;
  const PaperStart* paper_;
  Layout layout_;
  MomentTensor tensor_;
  Sample sample_;
  Solution solution_;
  SpectralWorkspace workspace_ = std::exchange(spare_workspace(), {});
};

}  // namespace

ModeShape shape_of(const SolveSettings& settings, const Layout& layout) {
  const auto d = static_cast<std::size_t>(std::max(layout.feature_count, 0));
  ModeShape shape{settings.component_count, d, settings.modes, {}, settings.noise, settings.noise_shape};
  if (settings.component_count == 1) shape.modes = Modes::independent;
  if (shape.modes != Modes::gated) return shape;
  if (layout.has_constant()) shape.gate.push_back(static_cast<std::size_t>(layout.constant_feature));
  for (std::size_t feature = 0; feature < d; ++feature) {
    const bool asked =
        settings.gate.empty() || std::ranges::find(settings.gate, feature) != settings.gate.end();
    if (asked && static_cast<int>(feature) != layout.constant_feature) shape.gate.push_back(feature);
  }
  return shape;
}

Verdict check(const SolveSettings& settings, std::size_t feature_count) {
  const auto refuse = [](std::string text) { return Refusal{Reason::bad_settings, std::move(text)}; };
  if (settings.polish > PolishKind::stepwise_em) return refuse("there is no such polish");
  if (settings.modes > Modes::gated) return refuse("there are no such modes");
  const bool plain =
      settings.modes == Modes::independent && !settings.noise_shape.tails && !settings.noise_shape.memory;
  if (!plain && settings.component_count == 0)
    return refuse("k is chosen for independent rows with Gaussian noise only: give k");
  if (!plain && settings.method != FitMethod::standard)
    return refuse("modes, tails and memory belong to the default method");
  if (!plain && settings.polish != PolishKind::scoring)
    return refuse("modes, tails and memory are fitted by the polish of scores: it cannot be off");
  if (std::ranges::any_of(settings.gate, [&](std::size_t at) { return at >= feature_count; }))
    return refuse("a gate can only be made of features of the map");
  if (!settings.gate.empty() && settings.modes != Modes::gated)
    return refuse("a gate goes with gated modes, and only with them");
  if (settings.component_count > 32) return refuse("at most 32 components are supported");
  if (feature_count > static_cast<std::size_t>(largest_solved_dimension)) {
    return Refusal{
        Reason::too_large,
        fmt::format("solving is supported for at most {} features; {} would need a matrix of {} x {} "
                    "numbers for the third regression",
                    largest_solved_dimension, feature_count, *monomial_count(feature_count, 3),
                    *monomial_count(feature_count, 3))};
  }
  if (settings.noise_variance &&
      !(*settings.noise_variance > 0.0 && std::isfinite(*settings.noise_variance))) {
    return refuse("a known noise variance must be positive");
  }
  if (settings.noise_variance.has_value() != (settings.noise == NoiseModel::known)) {
    return refuse("a noise variance goes with known noise, and only with it");
  }
  if (settings.component_count == 0 && settings.method != FitMethod::standard) {
    return refuse("the number of components is chosen by the default method only: give k");
  }
  if (settings.component_count == 0 &&
      (settings.largest_component_count < 1 || settings.largest_component_count > 32)) {
    return refuse("k = auto tries 1 up to at most 32 components");
  }
  if (!(settings.second_penalty >= 0.0) || !(settings.third_penalty >= 0.0) ||
      !std::isfinite(settings.noise_third)) {
    return refuse("penalties must not be negative, and the third noise moment must be finite");
  }
  return std::monostate{};
}

Solution solve(const MomentState& state, const SolveSettings& settings, const Mixture* last,
               const PolishDriver* polish, SolveDetail detail, const PaperStart* paper) {
  const auto began = std::chrono::steady_clock::now();
  Solution solution = Solver(state, settings, last, polish, detail, paper).run();
  solution.report.solve_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return solution;
}

}  // namespace mixstream
