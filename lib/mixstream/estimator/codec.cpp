// The estimator's own section of a snapshot: schedule, last fit, polish, drift.
#include <algorithm>
#include <cmath>
#include <utility>

#include "mixstream/estimator/parts.hpp"
#include "mixstream/following/mode_codec.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/moments/codec.hpp"

namespace mixstream {
namespace {

constexpr std::uint32_t estimator_section = first_guest_type;
constexpr std::uint32_t paper_section = first_guest_type + 1;  // where the paper's regressions go on
constexpr std::size_t most_events = 64;
constexpr std::uint32_t doubt_bit = 4;      // beside a small number: states from before it hold none
constexpr std::uint32_t tentative_bit = 8;  // likewise
constexpr std::uint32_t modes_bit = 16;     // rows in order follow instead of a polish
constexpr std::uint32_t cuts_bit = 32;      // and chains cut between files, parts and merges are counted
constexpr std::uint32_t branch_bit = 4;     // beside the kind of noise
constexpr std::uint64_t singular_bit = 1;   // of the paper's choices, in one number
constexpr std::uint64_t published_bit = 2;
constexpr std::uint64_t theory_bit = 4;
constexpr std::uint64_t largest_list = 1ULL << 24;  // numbers; no list here comes near

void put(ByteWriter& out, const std::vector<double>& values) {
  out.put(static_cast<std::uint64_t>(values.size()));
  out.put(std::span<const double>(values));
}

std::vector<double> take_list(ByteReader& in) {
  const auto size = in.take<std::uint64_t>();
  if (size > largest_list || size * sizeof(double) > in.left()) {
    in.fail();
    return {};
  }
  std::vector<double> values(size);
  in.take(values);
  return values;
}

void put(ByteWriter& out, const Mixture& mixture) {
  out.put(static_cast<std::uint64_t>(mixture.feature_count));
  put(out, mixture.weights);
  put(out, mixture.coefficients);
  put(out, mixture.noise_variances);
}

Mixture take_mixture(ByteReader& in) {
  Mixture mixture;
  mixture.feature_count = in.take<std::uint64_t>();
  mixture.weights = take_list(in);
  mixture.coefficients = take_list(in);
  mixture.noise_variances = take_list(in);
  const bool fits = mixture.feature_count < largest_list &&
                    mixture.noise_variances.size() == mixture.weights.size() &&
                    mixture.coefficients.size() == mixture.feature_count * mixture.weights.size();
  if (!fits) in.fail();
  return mixture;
}

void put(ByteWriter& out, const PolishState& polish) {
  out.put(polish.settings.move_every);
  out.put(static_cast<std::uint64_t>(polish.settings.pane_count));
  out.put(static_cast<std::uint64_t>(polish.settings.warm_steps));
  out.put(static_cast<std::uint32_t>(polish.noise) | (polish.is_branch ? branch_bit : 0U));
  put(out, polish.anchor);
  for (const auto* list : {&polish.parameters, &polish.information, &polish.gradient, &polish.slot_weights,
                           &polish.sums, &polish.buffer}) {
    put(out, *list);
  }
  out.put(polish.growth);
  for (const std::uint64_t number :
       {polish.rows, polish.rows_since_move, polish.moves, polish.refused_moves, polish.pane_turns}) {
    out.put(number);
  }
}

/// A number that stands for no noise, or for no sign, fails the reader.
NoiseModel noise_from(std::uint32_t number, ByteReader& in) {
  if (number > static_cast<std::uint32_t>(NoiseModel::known)) in.fail();
  return in.ok() ? static_cast<NoiseModel>(number) : NoiseModel::shared;
}
DriftSign sign_from(std::uint32_t number, ByteReader& in) {
  if (number > static_cast<std::uint32_t>(DriftSign::moments)) in.fail();
  return in.ok() ? static_cast<DriftSign>(number) : DriftSign::likelihood;
}

PolishState take_polish(ByteReader& in) {
  PolishState polish;
  polish.settings.move_every = in.take<std::uint64_t>();
  polish.settings.pane_count = in.take<std::uint64_t>();
  polish.settings.warm_steps = static_cast<int>(in.take<std::uint64_t>() & 0xffff);
  const auto noise = in.take<std::uint32_t>();
  polish.noise = noise_from(noise & ~branch_bit, in);
  polish.is_branch = (noise & branch_bit) != 0;
  polish.anchor = take_mixture(in);
  for (auto* list : {&polish.parameters, &polish.information, &polish.gradient, &polish.slot_weights,
                     &polish.sums, &polish.buffer}) {
    *list = take_list(in);
  }
  polish.growth = in.take_double();
  for (auto* number :
       {&polish.rows, &polish.rows_since_move, &polish.moves, &polish.refused_moves, &polish.pane_turns}) {
    *number = in.take<std::uint64_t>();
  }
  return polish;
}

void put(ByteWriter& out, const DensitySums& sums) {
  for (const double value : {sums.weight, sums.weight_squares, sums.log_density, sums.log_density_squares})
    out.put(value);
}

DensitySums take_sums(ByteReader& in) {
  DensitySums sums;
  for (double* value : {&sums.weight, &sums.weight_squares, &sums.log_density, &sums.log_density_squares}) {
    *value = in.take_double();
  }
  return sums;
}

void put(ByteWriter& out, const DriftState& drift) {
  const DriftSettings& s = drift.settings;
  for (const std::uint64_t number :
       {s.block_rows, s.settle_rows, static_cast<std::uint64_t>(s.lag_blocks),
        static_cast<std::uint64_t>(s.past_blocks), drift.rows, drift.block_rows, drift.blocks,
        drift.past_count, static_cast<std::uint64_t>(drift.scores_out)}) {
    out.put(number);
  }
  for (const double value :
       {s.fading, s.past_fading, s.limit, drift.likelihood_deviations, drift.score_deviations}) {
    out.put(value);
  }
  put(out, drift.block);
  put(out, drift.past);
  put(out, drift.block_score);
  for (const FadingBlocks& recent : drift.recent) {
    put(out, recent.score);
    for (const double value :
         {recent.score_variance, recent.log_density, recent.weight, recent.weight_squares}) {
      out.put(value);
    }
  }
  out.put(static_cast<std::uint64_t>(drift.lag.size()));
  for (const DensitySums& block : drift.lag) put(out, block);
}

DriftState take_drift(ByteReader& in) {
  DriftState drift;
  DriftSettings& s = drift.settings;
  s.block_rows = in.take<std::uint64_t>();
  s.settle_rows = in.take<std::uint64_t>();
  s.lag_blocks = in.take<std::uint64_t>();
  s.past_blocks = in.take<std::uint64_t>();
  for (auto* number : {&drift.rows, &drift.block_rows, &drift.blocks, &drift.past_count})
    *number = in.take<std::uint64_t>();
  drift.scores_out = in.take<std::uint64_t>() != 0;
  for (double* value :
       {&s.fading, &s.past_fading, &s.limit, &drift.likelihood_deviations, &drift.score_deviations}) {
    *value = in.take_double();
  }
  drift.block = take_sums(in);
  drift.past = take_sums(in);
  drift.block_score = take_list(in);
  for (FadingBlocks& recent : drift.recent) {
    recent.score = take_list(in);
    for (double* value :
         {&recent.score_variance, &recent.log_density, &recent.weight, &recent.weight_squares}) {
      *value = in.take_double();
    }
  }
  const auto lags = in.take<std::uint64_t>();
  if (lags > in.left() / 32 || s.lag_blocks > largest_list) in.fail();
  for (std::uint64_t i = 0; in.ok() && i < lags; ++i) drift.lag.push_back(take_sums(in));
  return drift;
}

void put(ByteWriter& out, const StepwiseEmState& path) {
  out.put(static_cast<std::uint32_t>(path.settings.noise));
  for (const double value : {path.settings.step_exponent, path.settings.step_delay,
                             path.settings.variance_floor, path.time, path.smallest_variance}) {
    out.put(value);
  }
  out.put(path.waiting);
  out.put(path.row_count);
  put(out, path.mixture);
  put(out, path.average);
  put(out, path.sums);
  put(out, path.block);
}

StepwiseEmState take_stepwise(ByteReader& in) {
  StepwiseEmState path;
  path.settings.noise = noise_from(in.take<std::uint32_t>(), in);
  for (double* value : {&path.settings.step_exponent, &path.settings.step_delay,
                        &path.settings.variance_floor, &path.time, &path.smallest_variance}) {
    *value = in.take_double();
  }
  path.waiting = in.take<std::uint64_t>();
  path.row_count = in.take<std::uint64_t>();
  path.mixture = take_mixture(in);
  path.average = take_mixture(in);
  path.sums = take_list(in);
  path.block = take_list(in);
  return path;
}

void put(ByteWriter& out, const PolishDriverState& driver) {
  for (const std::uint64_t number : {driver.rows, driver.next_check, driver.resets}) out.put(number);
  out.put(driver.bins);
  for (const std::uint64_t entered : driver.entered) out.put(entered);
  const bool begun = driver.polish.has_value() && driver.drift.has_value();
  const std::uint32_t parts = !begun ? 0U : driver.stepwise ? 2U : 1U;
  out.put(parts | (driver.in_doubt ? doubt_bit : 0U) | (driver.tentative ? tentative_bit : 0U) |
          (driver.modes ? modes_bit | cuts_bit : 0U));
  if (driver.modes) {
    put(out, *driver.modes);
    out.put(driver.modes->chains.cut_between);
  }
  if (!begun) return;
  put(out, *driver.polish);
  put(out, *driver.drift);
  if (driver.stepwise) put(out, *driver.stepwise);
}

PolishDriverState take_driver(ByteReader& in) {
  PolishDriverState driver;
  for (auto* number : {&driver.rows, &driver.next_check, &driver.resets}) *number = in.take<std::uint64_t>();
  driver.bins = in.take<std::uint32_t>();
  for (std::uint64_t& entered : driver.entered) entered = in.take<std::uint64_t>();
  auto parts = in.take<std::uint32_t>();
  driver.in_doubt = (parts & doubt_bit) != 0;
  driver.tentative = (parts & tentative_bit) != 0;
  if ((parts & modes_bit) != 0) driver.modes = take_mode_driver(in);
  if (driver.modes && (parts & cuts_bit) != 0) driver.modes->chains.cut_between = in.take<std::uint64_t>();
  parts &= ~(doubt_bit | tentative_bit | modes_bit | cuts_bit);
  if (parts == 0) return driver;
  driver.polish = take_polish(in);
  driver.drift = take_drift(in);
  if (parts > 1) driver.stepwise = take_stepwise(in);
  return driver;
}

/// Modes and shape of the noise, above the byte of the polish: states of before hold zeros there. The gate is
/// a bit for each of its features.
std::uint64_t order_bits(const SolveSettings& solve) {
  std::uint64_t gate = 0;
  for (const std::size_t feature : solve.gate) gate |= 1ULL << (feature % 32);
  return static_cast<std::uint64_t>(solve.modes) << 8 | (solve.noise_shape.tails ? 1ULL << 16 : 0) |
         (solve.noise_shape.memory ? 1ULL << 17 : 0) | (solve.choice.modes ? 1ULL << 18 : 0) |
         (solve.choice.noise ? 1ULL << 19 : 0) | gate << 32;
}

void take_order_bits(std::uint64_t bits, SolveSettings& solve, ByteReader& in) {
  const std::uint64_t modes = bits >> 8 & 0xff;
  if (modes > static_cast<std::uint64_t>(Modes::gated) || (bits >> 20 & 0xfff) != 0) return in.fail();
  solve.modes = static_cast<Modes>(modes);
  solve.noise_shape = {(bits >> 16 & 1) != 0, (bits >> 17 & 1) != 0};
  solve.choice = {(bits >> 18 & 1) != 0, (bits >> 19 & 1) != 0};
  for (std::size_t feature = 0; feature < 32; ++feature) {
    if ((bits >> (32 + feature) & 1) != 0) solve.gate.push_back(feature);
  }
}

std::uint64_t paper_choices(const SolveSettings& solve) {
  return (solve.allow_singular ? singular_bit : 0U) |
         (solve.objective == PaperObjective::published ? published_bit : 0U) |
         (solve.penalty == PaperPenalty::theory ? theory_bit : 0U);
}

void put(ByteWriter& out, const SolveSettings& solve) {
  for (const std::uint64_t number :
       {static_cast<std::uint64_t>(solve.component_count),
        static_cast<std::uint64_t>(solve.largest_component_count), static_cast<std::uint64_t>(solve.method),
        static_cast<std::uint64_t>(solve.noise), static_cast<std::uint64_t>(solve.em_starts), solve.seed,
        paper_choices(solve), static_cast<std::uint64_t>(solve.guard),
        static_cast<std::uint64_t>(solve.polish) | order_bits(solve)}) {
    out.put(number);
  }
  for (const double value :
       {solve.noise_variance.value_or(0.0), solve.noise_third, solve.second_penalty, solve.third_penalty}) {
    out.put(value);
  }
}

SolveSettings take_solve(ByteReader& in) {
  SolveSettings solve;
  solve.component_count = in.take<std::uint64_t>();
  solve.largest_component_count = in.take<std::uint64_t>();
  const auto method = in.take<std::uint64_t>();
  const auto noise = in.take<std::uint64_t>();
  if (method > static_cast<std::uint64_t>(FitMethod::em) ||
      noise > static_cast<std::uint64_t>(NoiseModel::known))
    in.fail();
  solve.method = static_cast<FitMethod>(method);
  solve.noise = static_cast<NoiseModel>(noise);
  solve.em_starts = static_cast<int>(in.take<std::uint64_t>() & 0xffff);
  solve.seed = in.take<std::uint64_t>();
  const auto choices = in.take<std::uint64_t>();
  solve.allow_singular = (choices & singular_bit) != 0;
  if ((choices & published_bit) != 0) solve.objective = PaperObjective::published;
  if ((choices & theory_bit) != 0) solve.penalty = PaperPenalty::theory;
  solve.guard = in.take<std::uint64_t>() != 0;
  auto polish = in.take<std::uint64_t>();
  take_order_bits(polish, solve, in);
  polish &= 0xff;
  if (polish > static_cast<std::uint64_t>(PolishKind::stepwise_em)) in.fail();
  solve.polish = static_cast<PolishKind>(polish);
  const double noise_variance = in.take_double();
  if (solve.noise == NoiseModel::known) solve.noise_variance = noise_variance;
  for (double* value : {&solve.noise_third, &solve.second_penalty, &solve.third_penalty})
    *value = in.take_double();
  return solve;
}

void put(ByteWriter& out, const RememberedFit& fit) {
  put(out, fit.mixture);
  out.put(static_cast<std::uint32_t>(fit.noise));
  put(out, fit.information);
  put(out, fit.sums);
  for (const double value : {fit.expected_ratio, fit.effective_rows, fit.clock}) out.put(value);
  out.put(fit.rows);
  out.put(fit.bins);
}

RememberedFit take_remembered(ByteReader& in) {
  RememberedFit fit;
  fit.mixture = take_mixture(in);
  fit.noise = noise_from(in.take<std::uint32_t>(), in);
  fit.information = take_list(in);
  fit.sums = take_list(in);
  for (double* value : {&fit.expected_ratio, &fit.effective_rows, &fit.clock}) *value = in.take_double();
  fit.rows = in.take<std::uint64_t>();
  fit.bins = in.take<std::uint32_t>();
  const std::size_t size =
      parameter_count(fit.mixture.component_count(), fit.mixture.feature_count, fit.noise);
  if (fit.information.size() != size * size) in.fail();
  return fit;
}

void put(ByteWriter& out, const std::vector<DriftEvent>& events) {
  out.put(static_cast<std::uint32_t>(events.size()));
  for (const DriftEvent& event : events) {
    out.put(event.row);
    out.put(static_cast<std::uint32_t>(event.sign));
    out.put(event.deviations);
    out.put(event.nats_per_row);
  }
}

std::vector<DriftEvent> take_events(ByteReader& in) {
  std::vector<DriftEvent> events;
  const auto count = in.take<std::uint32_t>();
  for (std::uint32_t i = 0; in.ok() && i < count; ++i) {
    DriftEvent event;
    event.row = in.take<std::uint64_t>();
    event.sign = sign_from(in.take<std::uint32_t>(), in);
    event.deviations = in.take_double();
    event.nats_per_row = in.take_double();
    if (events.size() < most_events) events.push_back(event);
  }
  return events;
}

template <typename Value>
void put_optional(ByteWriter& out, const std::optional<Value>& value) {
  out.put(static_cast<std::uint32_t>(value.has_value()));
  if (value) put(out, *value);
}

void put(ByteWriter& out, const MomentWatch& watch) {
  put_optional(out, watch.fit);
  put(out, watch.events);
}

MomentWatch take_watch(ByteReader& in) {
  MomentWatch watch;
  if (in.take<std::uint32_t>() != 0) watch.fit = take_remembered(in);
  watch.events = take_events(in);
  return watch;
}

void put(ByteWriter& out, const PaperStart& start) {
  for (const NuclearStart* one : {&start.second, &start.third}) {
    put(out, one->coefficients);
    put(out, one->dual);
    out.put(one->step);
  }
}

PaperStart take_paper(ByteReader& in) {
  PaperStart start;
  for (NuclearStart* one : {&start.second, &start.third}) {
    one->coefficients = take_list(in);
    one->dual = take_list(in);
    one->step = in.take_double();
    const auto sound = [](double value) { return std::isfinite(value); };
    if (!std::ranges::all_of(one->coefficients, sound) || !std::ranges::all_of(one->dual, sound) ||
        !(one->step >= 0.0 && std::isfinite(one->step)))
      in.fail();
  }
  return start;
}

}  // namespace

Bytes FitFeedback::encode() const {
  ByteWriter out;
  put_optional(out, fit);
  put_optional(out, polish);
  const bool doubt = schedule && schedule->in_doubt;
  const bool tentative = schedule && schedule->tentative;
  out.put(static_cast<std::uint32_t>(schedule.has_value()) | (doubt ? doubt_bit : 0U) |
          (tentative ? tentative_bit : 0U));
  out.put(schedule.value_or(PolishSchedule{}).next_check);
  out.put(schedule.value_or(PolishSchedule{}).bins);
  out.put(next_every);
  put(out, watch);
  if (paper) put(out, *paper);
  return std::move(out).take();
}

Outcome<FitFeedback> FitFeedback::decode(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  FitFeedback feedback;
  if (in.take<std::uint32_t>() != 0) feedback.fit = take_mixture(in);
  if (in.take<std::uint32_t>() != 0) feedback.polish = take_driver(in);
  const auto checked = in.take<std::uint32_t>();
  PolishSchedule schedule;
  schedule.in_doubt = (checked & doubt_bit) != 0;
  schedule.tentative = (checked & tentative_bit) != 0;
  schedule.next_check = in.take<std::uint64_t>();
  schedule.bins = in.take<std::uint32_t>();
  if (checked != 0) feedback.schedule = schedule;
  feedback.next_every = in.take<std::uint64_t>();
  feedback.watch = take_watch(in);
  if (in.ok() && !in.at_end()) feedback.paper = take_paper(in);
  if (!in.ok() || !in.at_end())
    return Refusal{Reason::bad_snapshot, "what a fit fed back is damaged: its bytes are not sound"};
  return feedback;
}

Outcome<SolveSettings> Estimator::saved_solve_settings(std::span<const std::byte> bytes) {
  DecodeSettings decoding;
  decoding.memory_budget = ~std::uint64_t{0} >> 1;
  const Outcome<Snapshot> snapshot = mixstream::decode(bytes, decoding);
  if (!snapshot) return snapshot.refusal();
  for (const Section& guest : snapshot.value().guests) {
    if (guest.type != estimator_section) continue;
    ByteReader in(guest.bytes);
    SolveSettings solve = take_solve(in);
    if (!in.ok() || !check(solve, static_cast<std::size_t>(largest_solved_dimension)))
      return Refusal{Reason::bad_snapshot, "the state is damaged: its settings are not sound"};
    return solve;
  }
  return SolveSettings{};
}

Bytes Estimator::Parts::encode() const {
  ByteWriter out;
  put(out, settings_.solve);
  out.put(next_every_);
  put_optional(out, last_fit_);
  put(out, drift_);
  out.put(static_cast<std::uint32_t>(refused_before_.size()));
  for (const auto& [reason, count] : refused_before_) {
    out.put_text(reason);
    out.put(count);
  }
  out.put(static_cast<std::uint32_t>(polish_.has_value()));
  if (polish_) put(out, polish_->state());
  put(out, watch_);
  std::vector<Section> sections;
  sections.push_back({estimator_section, std::move(out).take()});
  if (paper_) {
    ByteWriter start;
    put(start, *paper_);
    sections.push_back({paper_section, std::move(start).take()});
  }
  return mixstream::encode(state_, sections);
}

Outcome<Estimator::Parts> Estimator::Parts::decode(std::span<const std::byte> bytes,
                                                   const EstimatorSettings& settings) {
  DecodeSettings decoding;
  decoding.memory_budget = settings.state.memory_budget;
  Outcome<Snapshot> snapshot = mixstream::decode(bytes, decoding);
  if (!snapshot) return snapshot.refusal();
  Parts estimator(settings, std::move(snapshot.value().state));
  if (const Done done = check(estimator.settings_); !done) return done.refusal();
  for (const Section& guest : snapshot.value().guests) {
    if (guest.type == paper_section) {
      ByteReader in(guest.bytes);
      estimator.paper_ = take_paper(in);
      if (!in.ok() || !in.at_end())
        return Refusal{Reason::bad_snapshot, "the state is damaged: its last regressions are not sound"};
    }
    if (guest.type != estimator_section) continue;
    if (const Done done = estimator.restore(guest.bytes); !done) return done.refusal();
  }
  return estimator;
}

/// Reads the estimator's section. A polish of another model than the settings ask for is left out: it begins
/// anew.
Done Estimator::Parts::restore(std::span<const std::byte> bytes) {
  const Refusal damaged{Reason::bad_snapshot, "the state is damaged: the estimator's section is not sound"};
  ByteReader in(bytes);
  take_solve(in);
  next_every_ = in.take<std::uint64_t>();
  if (in.take<std::uint32_t>() != 0) last_fit_ = take_mixture(in);
  const std::vector<DriftEvent> events = take_events(in);
  drift_.assign(events.begin(), events.end());  // within what is reserved
  const auto reasons = in.take<std::uint32_t>();
  for (std::uint32_t i = 0; in.ok() && i < reasons; ++i) {
    const std::string reason = in.take_text();
    refused_before_[reason] = in.take<std::uint64_t>();
  }
  std::optional<PolishDriverState> driver;
  if (in.take<std::uint32_t>() != 0) driver = take_driver(in);
  if (!in.at_end()) watch_ = take_watch(in);  // the first version did not write it
  if (!in.ok() || !in.at_end() || (watch_.fit && !fits_tensor(*watch_.fit))) return damaged;
  const auto d = static_cast<std::size_t>(state_.settings().layout.feature_count);
  if (last_fit_ && last_fit_->feature_count != d) return damaged;
  const std::size_t k = settings_.solve.component_count;  // 0: any
  if (last_fit_ && k != 0 && last_fit_->component_count() != k) last_fit_.reset();
  if (every_is_due())
    next_every_ += ((state_.row_count() - next_every_) / settings_.every + 1) * settings_.every;
  if (!driver || !polish_ || !same_model(*driver)) return std::monostate{};
  Outcome<PolishDriver> restored = PolishDriver::restore(*driver, polish_settings_);
  if (!restored) return restored.refusal();
  polish_ = std::move(restored).value();
  return std::monostate{};
}

bool Estimator::Parts::fits_tensor(const RememberedFit& fit) const {
  const Layout& layout = state_.settings().layout;
  const Packing packing(layout.variables());
  return fit.mixture.feature_count == static_cast<std::size_t>(layout.feature_count) &&
         fit.sums.size() == packing.size() && fit.rows <= state_.row_count();
}

bool Estimator::Parts::same_model(const PolishDriverState& driver) const noexcept {
  if (driver.modes.has_value() != polish_settings_.modes.has_value()) return false;
  if (driver.modes)
    return !driver.modes->polish || polish_settings_.modes->choice.any() ||
           driver.modes->polish->shape == polish_settings_.modes->shape;
  if (!driver.polish) return true;
  const std::size_t k = driver.polish->anchor.component_count();
  return driver.polish->noise == settings_.solve.noise &&
         driver.polish->anchor.feature_count ==
             static_cast<std::size_t>(state_.settings().layout.feature_count) &&
         (settings_.solve.component_count == 0 || k == settings_.solve.component_count);
}

}  // namespace mixstream
