#include "mixstream/following/polish_driver.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/likelihood/em.hpp"
#include "mixstream/likelihood/parameters.hpp"

namespace mixstream {
namespace {

/// Whether the moments hold more than twice what the polish does, a parameter in the mean: many rows came
/// between the fit at which it began and its beginning, as when a burst passes while that fit is made.
bool knows_far_more(const RefinedFit& refined, const PolishedFit& polished) noexcept {
  const std::size_t size = refined.information.rows;
  if (size != polished.information.rows) return false;
  double logarithms = 0.0;
  for (std::size_t i = 0; i < size; ++i)
    logarithms += std::log(refined.information(i, i) / polished.information(i, i));
  return logarithms > std::log(2.0) * static_cast<double>(size);
}

bool same_model(const Mixture& a, const Mixture& b) noexcept {
  return a.feature_count == b.feature_count && a.component_count() == b.component_count();
}

}  // namespace

const char* name_of(PolishKind kind) noexcept {
  switch (kind) {
    case PolishKind::off:
      return "off";
    case PolishKind::scoring:
      return "scoring";
    case PolishKind::stepwise_em:
      return "stepwise-em";
  }
  return "";
}

const char* name_of(Reconciled reconciled) noexcept {
  switch (reconciled) {
    case Reconciled::not_started:
      return "not_started";
    case Reconciled::started:
      return "started";
    case Reconciled::kept:
      return "kept";
    default:
      return "reset";
  }
}

PolishDriver::PolishDriver(const PolishDriverSettings& settings) : settings_(settings) {
  state_.next_check = settings.first_check;
  if (!settings.modes) return;
  modes_.emplace(*settings.modes);
  if (modes_->is_in_use()) state_.bins = ~0U;  // rows far out are for the noise's tails to explain
}

Outcome<PolishDriver> PolishDriver::restore(const PolishDriverState& state,
                                            const PolishDriverSettings& settings) {
  PolishDriver driver(settings);
  driver.state_ = state;
  driver.state_.polish.reset();
  driver.state_.drift.reset();
  driver.state_.stepwise.reset();
  driver.state_.modes.reset();
  if (settings.modes.has_value() != state.modes.has_value())
    return Refusal{Reason::bad_snapshot, "the polish in this state is of another kind; refit without it"};
  if (state.modes) {
    Outcome<ModeDriver> modes = ModeDriver::restore(*state.modes, *settings.modes);
    if (!modes) return modes.refusal();
    driver.modes_ = std::move(modes).value();
    if (driver.modes_->is_in_use()) return driver;
  }
  if (state.polish.has_value() != state.drift.has_value())
    return Refusal{Reason::bad_snapshot, "half of the polish is missing in this state; refit without it"};
  if (!state.polish) return driver;
  Outcome<AnchoredPolish> polish = AnchoredPolish::restore(*state.polish);
  if (!polish) return polish.refusal();
  Outcome<DriftDetector> drift = DriftDetector::restore(*state.drift, polish.value().shape().parameters());
  if (!drift) return drift.refusal();
  driver.polish_ = std::move(polish).value();
  driver.drift_ = std::move(drift).value();
  if (settings.kind != PolishKind::stepwise_em) return driver;
  driver.begin_path();
  if (!state.stepwise) return driver;
  Outcome<StepwiseEm> stepwise = StepwiseEm::restore(*state.stepwise);
  if (!stepwise) return stepwise.refusal();
  if (!same_model(stepwise.value().mixture(), driver.polish_->anchor()))
    return Refusal{Reason::bad_snapshot, "the stored polish is of two models; refit without it"};
  driver.stepwise_ = std::move(stepwise).value();
  return driver;
}

PolishDriverState PolishDriver::state() const {
  PolishDriverState state = state_;
  if (polish_) state.polish = polish_->state();
  if (drift_) state.drift = drift_->state();
  if (stepwise_) state.stepwise = stepwise_->state();
  if (modes_) state.modes = modes_->state();
  return state;
}

std::optional<DriftEvent> PolishDriver::judge_block() noexcept {
  std::optional<DriftEvent> event = drift_->add(*polish_);
  if (event) event->row = state_.rows;
  return event;
}

std::optional<DriftEvent> PolishDriver::follow(const Row& row, std::size_t bin) noexcept {
  if (modes_->is_in_use()) {
    if (bin >= largest_bin_count || (state_.bins >> bin & 1U) == 0) {
      modes_->skip(row.sensor);
      return {};
    }
    ++state_.entered[bin];
  }
  std::optional<DriftEvent> event = modes_->absorb(row);
  if (modes_->wants_check()) state_.next_check = std::min(state_.next_check, state_.rows);
  if (event) event->row = state_.rows;
  return event;
}

void PolishDriver::forget(double keep) noexcept {
  if (modes_) modes_->forget(keep);
  if (polish_) polish_->forget(keep);
}

void PolishDriver::turn_pane() noexcept {
  if (polish_) polish_->turn_pane();
}

/// A polish is checked often while it is young or in doubt, for then a wrong start shows. While there is
/// none, every row that passes is lost to it, so ask sooner. Where the stream forgets, laws may have changed
/// since the last check once all that it remembers is new.
void PolishDriver::skip_check(std::uint64_t row_count) noexcept {
  std::uint64_t& next = state_.next_check;
  if (next == 0) next = 1;
  while (next <= row_count) {
    if (begun())
      next *= state_.in_doubt || state_.tentative || next < 4 * settings_.first_check ? 2 : 4;
    else
      next += std::max<std::uint64_t>(1, next / 4);
  }
  if (settings_.memory_rows > 0)
    next = std::min(next, row_count + std::max(settings_.first_check, settings_.memory_rows));
}

Done PolishDriver::merge(const PolishDriver& other) {
  return add(other, &AnchoredPolish::merge);
}

void PolishDriver::hold(const PolishDriver& other) {
  if (!modes_ || !other.modes_) return;
  [[maybe_unused]] const Done held = modes_->hold(*other.modes_);  // of more chains: those rows are not held
}

Done PolishDriver::take_coordinates(const Layout& layout, const Pilot& pilot) {
  polish_.reset();
  drift_.reset();
  stepwise_.reset();
  state_.entered.fill(0);
  return modes_ ? modes_->take_coordinates(layout, pilot) : Done(std::monostate{});
}

Done PolishDriver::merge_branch(const PolishDriver& branch) {
  const std::uint64_t next_check = state_.next_check;
  Done done = add(branch, &AnchoredPolish::merge_branch);
  state_.next_check = next_check;
  return done;
}

PolishDriver PolishDriver::branch() const {
  PolishDriver result(*this);
  if (polish_) result.polish_.emplace(polish_->branch());
  if (drift_) result.drift_->restart();
  if (modes_) result.modes_.emplace(modes_->branch());
  result.state_.rows = 0;
  result.state_.next_check = ~std::uint64_t{0};  // its rows alone are held against nothing
  result.state_.entered.fill(0);
  return result;
}

Done PolishDriver::add(const PolishDriver& other, Done (AnchoredPolish::*way)(const AnchoredPolish&)) {
  if (follows_modes() != other.follows_modes())
    return Refusal{Reason::cannot_merge, "only two polishes of one model can be added"};
  if (follows_modes()) {
    if (Done done = modes_->merge(*other.modes_); !done) return done;
    state_.rows += other.state_.rows;
    state_.next_check = std::max(state_.next_check, other.state_.next_check);
    return std::monostate{};
  }
  if (modes_ && other.modes_) {
    if (Done done = modes_->merge(*other.modes_); !done) return done;
  }
  if (!polish_ || !other.polish_ || state_.bins != other.state_.bins) {
    return Refusal{Reason::cannot_merge, "only two polishes of the same rows' bins can be added"};
  }
  if (Done done = ((*polish_).*way)(*other.polish_); !done) return done;
  drift_->restart();
  if (stepwise_) begin_path();
  state_.rows += other.state_.rows;
  state_.next_check = std::max(state_.next_check, other.state_.next_check);
  state_.tentative = state_.tentative || other.state_.tentative;
  for (std::size_t bin = 0; bin < largest_bin_count; ++bin) state_.entered[bin] += other.state_.entered[bin];
  return std::monostate{};
}

Reconciled PolishDriver::reconcile(const RefinedFit& refined, const RowTable& sample, std::uint64_t row_count,
                                   std::uint32_t bins) {
  const bool had_one = polish_.has_value();
  const bool counts = refined.accepted || refined.by_likelihood ||
                      (refined.complaints.only_search() && (!had_one || state_.tentative));
  const bool keep =
      !counts || (had_one && !refined.likeliest && !holds_left_out_rows(bins) && !disagrees(refined, sample));
  if (counts) {
    state_.bins = bins;
    state_.in_doubt = refined.rivals > 0 ||
                      (keep && !refined.by_likelihood && found_elsewhere(refined, polish_->fit().mixture));
    state_.tentative = !refined.accepted && !refined.by_likelihood;
  }
  if (!keep) begin(refined, sample);
  skip_check(row_count);
  if (keep) return had_one ? Reconciled::kept : Reconciled::not_started;
  if (had_one) ++state_.resets;
  return had_one ? Reconciled::reset : Reconciled::started;
}

Reconciled PolishDriver::reconcile(std::span<const Mixture> laws, const RowTable& sample,
                                   std::uint64_t row_count, const Mixture* labels) {
  const bool had_one = begun();
  const bool began = follows_modes() && modes_->reconcile(laws, sample, row_count, labels);
  state_.in_doubt = follows_modes() && modes_->in_doubt();
  skip_check(row_count);
  if (!began) return had_one ? Reconciled::kept : Reconciled::not_started;
  return had_one ? Reconciled::reset : Reconciled::started;
}

bool PolishDriver::choose(std::span<const Doubt> doubts, std::span<const Mixture> laws,
                          const RowTable& sample, std::uint64_t row_count, const Mixture* labels,
                          const Layout& layout) {
  if (!modes_ || !modes_->settings().choice.any() || laws.empty()) return false;
  const std::uint64_t trial_rows = modes_->settings().trial_rows;
  if (const Trial* trial = modes_->trial(); trial != nullptr && trial->rows() < trial_rows) {
    state_.next_check = std::min(state_.next_check, row_count + trial_rows - trial->rows());
    return false;
  }
  if (modes_->trial() != nullptr && modes_->end_trial(row_count)) {
    polish_.reset();
    drift_.reset();
    stepwise_.reset();
    state_.bins = ~0U;
    state_.entered.fill(0);
    state_.in_doubt = state_.tentative = false;
    state_.next_check = row_count + trial_rows;  // what else the rows ask for
    return true;
  }
  ModeShape now = modes_->settings().shape;
  now.component_count = laws.front().component_count();
  const std::vector<ModelExtension> larger = extensions_of(now, doubts, modes_->settings().choice, layout);
  if (larger.empty()) return false;
  const auto in_use = modes_->candidate(now, laws, sample, row_count);
  std::vector<ModeDriver::Candidate> candidates;
  for (const ModelExtension& extension : larger) {
    auto candidate = modes_->candidate(extension.shape, laws, sample, row_count);
    if (!in_use || !candidate || !(candidate->bic < in_use->bic)) continue;
    candidate->because = name_of(extension.because);
    candidates.push_back(*std::move(candidate));
  }
  if (candidates.empty()) return false;
  modes_->begin_trial(*in_use, candidates, sample, row_count, labels);
  state_.next_check = std::min(state_.next_check, row_count + trial_rows);
  return false;
}

/// Worse on the sample beyond chance; or where J of all rows' moments would reject it; or elsewhere than the
/// refined fit, and the sample does not side with the polish. (A right polish knows far more than a refined
/// fit whose features have heavy tails: no high bar for it.)
bool PolishDriver::disagrees(const RefinedFit& refined, const RowTable& sample) const {
  const Mixture polished = polish_->fit().mixture;
  if (!same_model(polished, refined.mixture) || polish_->state().noise != refined.noise) return true;
  const double gain = likelihood_gain(polished, refined.mixture, sample).deviations();
  if (!(gain >= -settings_.likelihood_limit)) return true;
  if (refined.by_likelihood) return false;
  if (moments_reject(refined, polished)) return true;
  return lies_apart(refined, polished, settings_.distance_limit) && gain < 0.0;
}

bool PolishDriver::holds_left_out_rows(std::uint32_t bins) const noexcept {
  for (std::size_t bin = 0; bin < largest_bin_count; ++bin) {
    if (state_.entered[bin] > 0 && (bins >> bin & 1U) == 0) return true;
  }
  return false;
}

/// Begins at the fit with its information. A fit that the sample contradicts by a nat a row, such as one
/// whose noise has vanished, is a place to look for the optimum and no more: EM begins there, and the
/// polish with what EM finds and without information.
void PolishDriver::begin(const RefinedFit& refined, const RowTable& sample) {
  const EmFit nearby = fit_em(sample, refined.mixture, {.noise = refined.noise, .max_iterations = 50});
  const bool trusted = likelihood_gain(nearby.mixture, refined.mixture, sample).mean < 1.0;
  const std::size_t size = refined.information.rows;
  const DenseMatrix nothing{size, size, std::vector<double>(size * size)};
  polish_.emplace(trusted ? refined.mixture : nearby.mixture, trusted ? refined.information : nothing,
                  refined.noise, settings_.scoring);
  polish_->warm_anchor(sample);
  drift_.emplace(polish_->shape().parameters(), settings_.drift);
  if (settings_.kind == PolishKind::stepwise_em) begin_path();
  state_.entered.fill(0);
}

/// Begins the path of stepwise EM where the polish stands.
void PolishDriver::begin_path() {
  const PolishedFit fit = polish_->fit();
  stepwise_.emplace(is_finite(fit.mixture) ? fit.mixture : polish_->anchor(),
                    StepwiseEmSettings{.noise = polish_->state().noise});
}

std::optional<PolishedFit> PolishDriver::fit_to_report(const RefinedFit& refined,
                                                       const RowTable& sample) const {
  if (!polish_) return {};
  PolishedFit fit = polish_->fit();
  if (!same_model(fit.mixture, refined.mixture)) return {};
  if (!std::ranges::all_of(fit.information.values, [](double value) { return std::isfinite(value); }))
    return {};
  if (polish_->rows() < sample.size()) {  // just begun: the sample still says more than the rows since
    if (refined.accepted && knows_far_more(refined, fit)) return {};
    AnchoredPolish warmed = *polish_;
    warmed.warm_anchor(sample);
    fit.mixture = warmed.anchor();
    fit.parameters = to_parameters(fit.mixture, refined.noise);
  } else if (stepwise_) {
    fit.mixture = stepwise_->mixture();
    fit.parameters = to_parameters(fit.mixture, refined.noise);
  }
  const double gain = likelihood_gain(fit.mixture, refined.mixture, sample).deviations();
  if (!(gain >= -settings_.likelihood_limit)) return {};
  return fit;
}

}  // namespace mixstream
