#include "mixstream/estimator/parts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/modes/tracker.hpp"
#include "mixstream/rows/feature_map.hpp"

namespace mixstream {
namespace {

/// Whether the held rows say that rows depend on those before them.
bool order_matters(const std::vector<Doubt>& doubts) noexcept {
  return std::ranges::any_of(doubts, [](const Doubt& doubt) {
    return doubt.raised && (doubt.kind == DoubtKind::persistence || doubt.kind == DoubtKind::memory);
  });
}

constexpr std::size_t drift_events_kept = 64;

void add_event(std::vector<DriftEvent>& events, const DriftEvent& event) {
  if (events.size() == drift_events_kept) events.erase(events.begin());
  events.push_back(event);
}

BinMask mask_of(std::uint32_t bins) {
  BinMask mask{};
  for (std::size_t b = 0; b < bin_count; ++b) mask[b] = (bins >> b & 1U) != 0;
  return mask;
}

/// What leads from one pilot's coordinates to another's, as a pilot: z' = (z - shift) / scale.
Pilot between(const Pilot& from, const Pilot& to) {
  Pilot way = to;
  for (std::size_t v = 0; v < way.scale.size(); ++v) {
    way.shift[v] = (to.shift[v] - from.shift[v]) / from.scale[v];
    way.scale[v] = to.scale[v] / from.scale[v];
  }
  return way;
}

}  // namespace

Estimator::Parts::Parts(const EstimatorSettings& settings, MomentState state)
    : settings_(settings),
      state_(std::move(state)),
      next_every_(settings.every),
      pilot_features_(static_cast<std::size_t>(state_.settings().layout.feature_count), 1.0) {
  settings_.state = state_.settings();
  if (settings_.solve.feature_names.empty()) {
    const Outcome<FeatureMap> map = FeatureMap::parse(settings_.state.feature_map);
    if (map && map.value().feature_count() == pilot_features_.size())
      settings_.solve.feature_names = map.value().names();
  }
  polish_settings_ = polish_settings(settings_);
  if (polishes()) polish_.emplace(polish_settings_);
  reserve_events();
}

/// A copy has only the room it needs.
void Estimator::Parts::reserve_events() {
  drift_.reserve(drift_events_kept);
}

bool Estimator::Parts::polishes() const noexcept {
  return settings_.solve.polish != PolishKind::off && settings_.solve.method == FitMethod::standard;
}

RowFault Estimator::Parts::absorb_and_polish(const Row& row) noexcept {
  const std::size_t pane = state_.active_pane();
  const Forgetting::Clock clock = state_.forgetting().clock();
  const RowFault fault = state_.absorb(row);
  if (fault != RowFault::none) {
    polish_->skip(row.sensor);
    return fault;
  }
  if (state_.active_pane() != pane) polish_->turn_pane();
  if (state_.settings().memory.forgets()) fade_polish(clock);
  polish(row);
  return fault;
}

/// Lets the polish forget as the moments do: by the clock that this row has moved from `before` on. The clock
/// starts with the pilot; rows before it are of one age.
void Estimator::Parts::fade_polish(const Forgetting::Clock& before) noexcept {
  const Memory& memory = state_.settings().memory;
  const double moved = before.started ? state_.forgetting().clock().latest - before.latest : 0.0;
  const double passed = memory.kind == Memory::Kind::half_life_rows ? 1.0 : moved;
  if (passed > 0.0) polish_->forget(std::exp2(-passed / memory.length));
}

/// What a row counts: less than its weight when it comes late and the past fades by the row's own clock.
double Estimator::Parts::present_weight(const Row& row) const noexcept {
  const Memory& memory = state_.settings().memory;
  if (memory.kind != Memory::Kind::half_life_seconds || !state_.forgetting().clock().started)
    return row.weight;
  return row.weight * std::exp2((row.time - state_.forgetting().clock().latest) / memory.length);
}

/// The features of the row absorbed last, in pilot coordinates: z has the constant in front, or 1 where there
/// is none.
std::span<const double> Estimator::Parts::last_features() noexcept {
  const std::span<const double> z = state_.last_variables();
  const int constant = state_.settings().layout.constant_feature;
  if (constant <= 0) return z.subspan(constant < 0 ? 1 : 0, pilot_features_.size());
  const auto at = static_cast<std::ptrdiff_t>(constant);
  std::copy_n(z.begin() + 1, at, pilot_features_.begin());
  std::copy(z.begin() + at + 1, z.end() - 1, pilot_features_.begin() + at + 1);
  return pilot_features_;
}

/// Hands the row to the polish, in pilot coordinates.
void Estimator::Parts::polish(const Row& row) noexcept {
  if (!state_.pilot_is_fixed()) {
    polish_->absorb_raw({row.features, row.response, present_weight(row), row.time, row.sensor});
    return;
  }
  if (polish_->holds_raw_rows()) polish_->take_pilot(state_.settings().layout, state_.fixed_pilot());
  const Row moved{last_features(), state_.last_variables().back(), present_weight(row), row.time, row.sensor};
  std::optional<DriftEvent> event = polish_->absorb(moved, state_.last_bin());
  if (!event) return;
  event->row = state_.row_count();
  add_event(drift_, *event);
}

/// Of a sensor whose chain is under way.
std::optional<std::span<const double>> Estimator::Parts::modes_of(std::uint64_t sensor) const noexcept {
  const ModeDriver* modes = polish_ ? polish_->modes() : nullptr;
  if (modes == nullptr || modes->polish() == nullptr) return {};
  const std::optional<std::size_t> slot = modes->chains().slot_of(sensor);
  if (!slot) return {};
  return modes->polish()->modes_of(*slot);
}

bool Estimator::Parts::modes(std::uint64_t sensor, std::span<double> probabilities,
                             unsigned ahead) const noexcept {
  const auto now = modes_of(sensor);
  if (!now || probabilities.size() != now->size()) return false;
  std::ranges::copy(*now, probabilities.begin());
  const ModePolish& polish = *polish_->modes()->polish();
  std::array<double, 32> spare{};
  if (polish.shape().modes == Modes::independent && ahead > 0)
    std::ranges::copy(polish.anchor().laws.weights, probabilities.begin());
  if (polish.shape().modes == Modes::persistent)
    step_ahead(polish.anchor().transitions, ahead, probabilities, std::span(spare).first(now->size()));
  return true;
}

std::optional<double> Estimator::Parts::rows_left(std::uint64_t sensor) const noexcept {
  const auto now = modes_of(sensor);
  if (!now) return {};
  const ModePolish& polish = *polish_->modes()->polish();
  if (polish.shape().modes != Modes::persistent) return {};
  return mixstream::rows_left(polish.anchor().transitions, *now);
}

bool Estimator::Parts::describe_modes(ModesNow& now) const {
  const ModeDriver* modes = polish_ ? polish_->modes() : nullptr;
  return modes != nullptr && modes->describe_now(now);
}

void Estimator::Parts::count_refused(std::string_view reason, std::optional<std::uint64_t> sensor) {
  if (sensor && polish_) polish_->skip(*sensor);
  const auto found = refused_before_.find(reason);
  if (found != refused_before_.end())
    ++found->second;
  else
    refused_before_.emplace(reason, 1);
}

std::vector<std::pair<std::string, std::uint64_t>> Estimator::Parts::refused() const {
  auto counts = refused_before_;
  for (std::size_t v = 1; v < state_fault_count; ++v) {
    if (state_.row_counts()[v] > 0) counts[name_of(static_cast<RowFault>(v))] += state_.row_counts()[v];
  }
  return {counts.begin(), counts.end()};
}

bool Estimator::Parts::fit_is_due() const noexcept {
  return every_is_due() || (polish_ && polish_->should_check(state_.row_count()));
}

std::uint64_t Estimator::Parts::rows_until_due() const noexcept {
  const std::uint64_t rows = state_.row_count();
  std::uint64_t next = polish_ ? polish_->next_check() : ~std::uint64_t{0};
  if (settings_.every > 0) next = std::min(next, next_every_);
  return next > rows ? next - rows : 0;
}

SolveMemory Estimator::Parts::solve_memory() const {
  std::uint64_t refused = 0;
  for (const auto& [reason, count] : refused_before_) refused += count;
  return {last_fit_ ? &*last_fit_ : nullptr, polish_ ? &*polish_ : nullptr, paper_ ? &*paper_ : nullptr,
          refused};
}

Report Estimator::Parts::scheduled_fit(SolveDetail detail) {
  const std::uint64_t rows = state_.row_count();
  Solution solution = solve(state_, settings_.solve, solve_memory(), detail);
  const UnbreakableStretch all_or_nothing;
  if (solution.report.spectral) {
    if (std::optional<PaperStart> start = solution.report.spectral->paper_start()) paper_ = std::move(start);
  }
  const bool trusted = is_usable(solution.report.status);
  const std::optional<Mixture> labels = labels_in_pilot();
  if (trusted) last_fit_ = solution.mixture;
  watch_moments(solution);
  if (polish_ && polish_->should_check(rows)) {
    if (polish_->follows_modes())
      polish_->reconcile(solution.laws, solution.sample, rows, labels ? &*labels : nullptr);
    else if (solution.refined)
      polish_->reconcile(*solution.refined, solution.sample, rows, solution.bins);
    else
      polish_->skip_check(rows);
    const Mixture* names = labels ? &*labels : nullptr;
    if (polish_->choose(solution.doubts, solution.laws, solution.sample, rows, names,
                        state_.settings().layout)) {
      drift_.clear();  // what was taken for drift was held against another model
      watch_ = {};
    }
  }
  if (every_is_due()) next_every_ += ((rows - next_every_) / settings_.every + 1) * settings_.every;
  return report_of(std::move(solution));
}

/// The last fit in pilot coordinates, once there are such.
std::optional<Mixture> Estimator::Parts::labels_in_pilot() const {
  if (!last_fit_ || !state_.pilot_is_fixed()) return {};
  return to_pilot(*last_fit_, state_.settings().layout, state_.fixed_pilot());
}

/// Holds the rows since the last accepted fit against it, once they are enough, and remembers the newest. Its
/// chi-square is that of independent rows: a run of one mode would be taken for a change of the laws.
void Estimator::Parts::watch_moments(const Solution& solution) {
  if (!solution.refined || !state_.pilot_is_fixed()) return;
  if (order_matters(solution.doubts)) {
    watch_.fit.reset();
    return;
  }
  const std::uint64_t rows = state_.row_count();
  const BinMask bins = mask_of(solution.bins);
  const MomentTensor now = state_.moments(bins);
  if (watch_.fit && watch_.fit->bins != solution.bins) watch_.fit.reset();
  if (watch_.fit) {
    const std::optional<MomentTensor> recent = recent_moments(now, bins);
    if (!recent) return;
    std::optional<DriftEvent> event = judge_recent(*recent, solution.sample, *watch_.fit, settings_.drift);
    if (event) {
      event->row = rows;
      add_event(watch_.events, *event);
    }
    if (event || solution.refined->accepted) watch_.fit.reset();
  }
  if (!watch_.fit && solution.refined->accepted) {
    watch_.fit = remember(*solution.refined, now, rows, solution.bins, state_.forgetting().clock().latest);
  }
}

/// The rows since the remembered fit: of a window, the pane closed last if it began after the fit. Nothing
/// while they are too few.
std::optional<MomentTensor> Estimator::Parts::recent_moments(const MomentTensor& now,
                                                             const BinMask& bins) const {
  const Memory& memory = state_.settings().memory;
  const RememberedFit& then = *watch_.fit;
  const std::uint64_t passed = state_.row_count() - then.rows;
  if (passed < settings_.drift.fewest_rows) return {};
  if (memory.kind == Memory::Kind::window_rows) {
    const double pane_rows = memory.length / static_cast<double>(memory.panes);
    if (static_cast<double>(passed) < 2.0 * pane_rows) return {};
    return state_.closed_pane_moments(bins);
  }
  double half_lives = 0.0;
  if (memory.kind == Memory::Kind::half_life_rows) half_lives = static_cast<double>(passed) / memory.length;
  if (memory.kind == Memory::Kind::half_life_seconds)
    half_lives = (state_.forgetting().clock().latest - then.clock) / memory.length;
  return since(then, now, std::exp2(-half_lives));
}

std::vector<DriftEvent> Estimator::Parts::drift() const {
  std::vector<DriftEvent> events(drift_.size() + watch_.events.size());
  std::ranges::merge(drift_, watch_.events, events.begin(), {}, &DriftEvent::row, &DriftEvent::row);
  return events;
}

ScheduledFit Estimator::Parts::fit_apart() {
  const bool checks = polish_ && polish_->should_check(state_.row_count());
  const bool had_polish = polish_ && polish_->begun();
  const std::uint64_t resets = polish_ ? polish_->resets() : 0;
  ScheduledFit result;
  result.report = scheduled_fit();
  result.feedback.next_every = next_every_;
  if (is_usable(result.report.status)) result.feedback.fit = last_fit_;
  result.feedback.watch = watch_;
  result.feedback.paper = paper_;
  if (checks) result.feedback.schedule = polish_->schedule();
  const bool has_polish = polish_ && polish_->begun();
  if (has_polish && (!had_polish || polish_->resets() != resets)) result.feedback.polish = polish_->state();
  return result;
}

Done Estimator::Parts::take(const FitFeedback& feedback) {
  const auto d = static_cast<std::size_t>(state_.settings().layout.feature_count);
  const bool fits = (!feedback.fit || feedback.fit->feature_count == d) &&
                    (!feedback.polish || (polish_ && same_model(*feedback.polish))) &&
                    (!feedback.watch.fit || fits_tensor(*feedback.watch.fit));
  if (!fits) return Refusal{Reason::bad_settings, "the fit is of another model than the estimator's"};
  if (feedback.polish) {
    Outcome<PolishDriver> restored = PolishDriver::restore(*feedback.polish, polish_settings_);
    if (!restored) return restored.refusal();
    polish_ = std::move(restored).value();
  }
  if (polish_ && feedback.schedule) polish_->take_schedule(*feedback.schedule);
  if (feedback.fit) last_fit_ = feedback.fit;
  if (feedback.paper) paper_ = feedback.paper;
  watch_ = feedback.watch;
  next_every_ = std::max(next_every_, feedback.next_every);
  return std::monostate{};
}

Report Estimator::Parts::report_of(Solution solution) const {
  solution.report.drift = drift();
  solution.report.refused = refused();
  return std::move(solution.report);
}

Report Estimator::Parts::fit(const SolveSettings& settings) const {
  Solution solution = solve(state_, settings, solve_memory());
  return report_of(std::move(solution));
}

Done Estimator::Parts::merge(const Parts& other, MergeAs as) {
  const std::optional<Pilot> ours = pilot_if_fixed();
  if (Done done = state_.merge(other.state_, as); !done) return done;
  if (polish_) merge_polish(other, ours);
  if (!last_fit_) last_fit_ = other.last_fit_;
  watch_.fit.reset();  // the other's rows are not recent ones
  add_counts(other);
  return std::monostate{};
}

std::optional<Pilot> Estimator::Parts::pilot_if_fixed() const {
  return state_.pilot_is_fixed() ? std::optional(state_.fixed_pilot()) : std::nullopt;
}

/// What this and another driver know, in the coordinates that their rows have together; `ours`: those that
/// this one has. Where their polishes are of two models both begin anew, and only what is held stays.
void Estimator::Parts::merge_polish(const Parts& other, const std::optional<Pilot>& ours) {
  PolishDriver anew(polish_settings_);
  PolishDriver mine = *polish_;
  std::optional<PolishDriver> theirs = other.polish_;
  const bool carried = brought_here(mine, ours) && (!theirs || brought_here(*theirs, other.pilot_if_fixed()));
  if (carried) {
    anew.hold(mine);
    if (theirs) anew.hold(*theirs);
  }
  const bool merged = carried && theirs && mine.merge(*theirs);
  polish_ = merged ? std::move(mine) : std::move(anew);
}

/// Brings a driver from coordinates of `from`, none: raw ones, to those of the state.
bool Estimator::Parts::brought_here(PolishDriver& driver, const std::optional<Pilot>& from) const {
  if (!state_.pilot_is_fixed()) return true;
  const Layout& layout = state_.settings().layout;
  const bool raw = !from || driver.holds_raw_rows();
  const Pilot stands = raw ? Pilot::identity(layout.variables()) : *from;
  if (stands == state_.fixed_pilot()) return true;
  return static_cast<bool>(driver.take_coordinates(layout, between(stands, state_.fixed_pilot())));
}

void Estimator::Parts::add_counts(const Parts& other) {
  for (const auto& [reason, count] : other.refused_before_) refused_before_[reason] += count;
}

Outcome<Estimator::Parts> Estimator::Parts::branch() const {
  if (state_.settings().memory.kind != Memory::Kind::everything || !state_.pilot_is_fixed()) {
    return Refusal{Reason::bad_settings,
                   "a stream is read in parts only with a memory of everything, once its pilot is fixed"};
  }
  Outcome<MomentState> part = MomentState::create(state_.settings());
  if (!part) return part.refusal();
  if (const Done done = part.value().set_pilot(state_.fixed_pilot()); !done) return done.refusal();
  Parts result(settings_, std::move(part).value());
  result.last_fit_ = last_fit_;
  if (polish_) result.polish_.emplace(polish_->branch());
  return result;
}

Done Estimator::Parts::merge_branch(const Parts& branch) {
  const std::uint64_t rows_before = state_.row_count();
  if (Done done = state_.merge(branch.state_); !done) return done;
  if (polish_ && branch.polish_ && polish_->begun()) {
    if (Done done = polish_->merge_branch(*branch.polish_); !done) return done;
  } else if (polish_ && branch.polish_) {
    polish_->hold(*branch.polish_);
  }
  for (DriftEvent event : branch.drift_) {
    event.row += rows_before;
    add_event(drift_, event);
  }
  add_counts(branch);
  return std::monostate{};
}

}  // namespace mixstream
