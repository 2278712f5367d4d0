// The C interface: a thin coat over SensorLoop that lets no exception out.
#include "mixstream/mixstream.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "mixstream/c_interface/shared.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/sensor_loop.hpp"

struct mixstream_loop {
  mixstream::LoopSettings settings;
  mixstream::SensorLoop loop;
  std::array<char, 512> words{};
};

namespace {

using namespace mixstream;
using mixstream::c_interface::copy_moments;
using mixstream::c_interface::guarded;
using mixstream::c_interface::say;
using mixstream::c_interface::status_of;

struct Named {
  mixstream_status status;
  const char* name;
  const char* text;
};

constexpr Named names[] = {
    {MIXSTREAM_OK, "ok", "all is well"},
    {MIXSTREAM_WRONG_WIDTH, "wrong_width",
     "the row was refused: its number of features is not that of the settings"},
    {MIXSTREAM_NOT_A_NUMBER, "not_a_number", "the row was refused: it holds NaN"},
    {MIXSTREAM_INFINITE, "infinite", "the row was refused: it holds an infinity"},
    {MIXSTREAM_ROW_TOO_LARGE, "row_too_large",
     "the row was refused: its sixth powers could overflow; use larger units"},
    {MIXSTREAM_BAD_WEIGHT, "bad_weight", "the row was refused: a weight lies between 1e-100 and 1e15"},
    {MIXSTREAM_WRONG_CONSTANT, "wrong_constant", "the row was refused: the constant feature must be 1"},
    {MIXSTREAM_CLOCK_JUMP, "clock_jump",
     "the row was refused: its time is not confirmed by the rows around it"},
    {MIXSTREAM_UNDEFINED_FEATURE, "undefined_feature",
     "a feature of the row has no value: the log or root of a negative number, or a division by zero"},
    {MIXSTREAM_NO_EARLIER_ROW, "no_earlier_row", "a lag of the row reaches back to a row that is not there"},
    {MIXSTREAM_NO_FIT_YET, "no_fit_yet", "there is no fit yet: absorb more rows and refit"},
    {MIXSTREAM_NOTHING_TO_DO, "nothing_to_do",
     "the loop has given no rows away: ask for a refit, or wait for the policy"},
    {MIXSTREAM_NOT_DONE, "not_done", "the refit goes on with the next step"},
    {MIXSTREAM_INTERRUPTED, "interrupted", "the call was ended on its caller's wish"},
    {MIXSTREAM_TOO_FEW_ROWS, "too_few_rows", "the rows are too few for a fit: absorb more"},
    {MIXSTREAM_NOT_IDENTIFIABLE, "not_identifiable", "the rows do not determine the laws: see the words"},
    {MIXSTREAM_POOR_FIT, "poor_fit", "the moments speak against the fit, which is not used: see the words"},
    {MIXSTREAM_APPROXIMATE, "approximate", "the rows contradict the model by little: the laws are of use"},
    {MIXSTREAM_LOST_COMPONENT, "lost_component", "a law has no rows: try fewer of them"},
    {MIXSTREAM_BAD_ARGUMENT, "bad_argument", "an argument is NULL or out of range"},
    {MIXSTREAM_BAD_SETTINGS, "bad_settings", "the settings contradict each other or are out of range"},
    {MIXSTREAM_CANNOT_MERGE, "cannot_merge", "the two states do not describe the same thing"},
    {MIXSTREAM_BAD_SNAPSHOT, "bad_snapshot", "the bytes are no state, or a damaged one"},
    {MIXSTREAM_UNKNOWN_VERSION, "unknown_version", "the state was written by a later version"},
    {MIXSTREAM_TOO_LARGE, "too_large", "there is not enough room for it"},
    {MIXSTREAM_OUT_OF_MEMORY, "out_of_memory", "the system has no memory left"},
    {MIXSTREAM_INTERNAL, "internal", "the library broke down; this is a bug"},
};

const Named& named(mixstream_status status) noexcept {
  const auto* found = std::find_if(std::begin(names), std::end(names),
                                   [status](const Named& name) { return name.status == status; });
  return found == std::end(names) ? *(std::end(names) - 1) : *found;
}

void say(mixstream_loop& loop, std::string_view words) noexcept {
  say(loop.words.data(), loop.words.size(), words);
}

mixstream_status status_of(RowFault fault) noexcept {  // the numbers agree
  return static_cast<mixstream_status>(fault);
}

/// Of version 0.1, whose last bytes were free.
constexpr std::size_t first_settings_size = offsetof(mixstream_settings, tolerance);

mixstream_settings defaults(std::size_t size) noexcept {
  const StateSettings state;
  mixstream_settings settings{};
  settings.size = size;
  settings.constant_feature = -1;
  settings.component_count = 2;
  settings.polish = 1;
  settings.sample_rows = state.reservoir_rows;
  settings.pilot_rows = state.pilot_rows;
  settings.seed = state.seed;
  return settings;
}

/// What the caller knows of the struct, and the defaults for the rest; nothing: init did not fill it.
std::optional<mixstream_settings> known_settings(const mixstream_settings* settings) noexcept {
  if (settings == nullptr || settings->size < first_settings_size || settings->size > sizeof *settings)
    return {};
  mixstream_settings known = defaults(sizeof known);
  std::memcpy(&known, settings, settings->size);
  return known;
}

LoopSettings loop_settings(const mixstream_settings& from) {
  LoopSettings to;
  StateSettings& state = to.estimator.state;
  state.layout = {from.feature_count, from.constant_feature};
  state.memory.kind = static_cast<Memory::Kind>(from.memory);
  state.memory.length = from.memory_length;
  state.reservoir_rows = from.sample_rows;
  state.pilot_rows = from.pilot_rows;
  state.seed = from.seed;
  SolveSettings& solve = to.estimator.solve;
  solve.component_count = from.component_count;
  solve.noise = from.per_component_noise != 0 ? NoiseModel::per_component : NoiseModel::shared;
  solve.polish = static_cast<PolishKind>(from.polish);
  if ((from.order & MIXSTREAM_PERSISTENT) != 0) solve.modes = Modes::persistent;
  if ((from.order & MIXSTREAM_GATED) != 0) solve.modes = Modes::gated;
  if ((from.order & MIXSTREAM_AUTO) != 0) solve.choice = {true, true};
  for (std::size_t at = 0; at < 64; ++at) {
    if ((from.gate >> at & 1U) != 0) solve.gate.push_back(at);
  }
  to.estimator.chains.gap_seconds = from.gap_seconds;
  solve.noise_shape = {(from.order & MIXSTREAM_TAILS) != 0, (from.order & MIXSTREAM_MEMORY) != 0};
  solve.seed = from.seed;
  if (from.tolerance != 0.0) solve.tolerance = from.tolerance;
  to.policy.every_rows = from.refit_every_rows;
  to.policy.every_seconds = from.refit_every_seconds;
  to.policy.on_drift = from.refit_on_drift != 0;
  return to;
}

bool sound_order(int32_t order) noexcept {
  constexpr int32_t modes = MIXSTREAM_PERSISTENT | MIXSTREAM_GATED | MIXSTREAM_AUTO;
  return order >= 0 && (order & ~(modes | MIXSTREAM_TAILS | MIXSTREAM_MEMORY)) == 0 &&
         std::popcount(static_cast<std::uint32_t>(order & modes)) <= 1;
}

/// A loop from an estimator, or a refusal in words.
template <class Make>
mixstream_loop* make_loop(const mixstream_settings* settings, mixstream_status* status, char* text,
                          std::size_t text_size, Make make) noexcept {
  mixstream_loop* made = nullptr;
  const mixstream_status result = guarded([&] {
    const std::optional<mixstream_settings> known = known_settings(settings);
    const bool sound = known && known->memory >= 0 && known->memory <= MIXSTREAM_WINDOW_ROWS &&
                       known->polish >= 0 && known->polish <= 2 && sound_order(known->order) &&
                       known->tolerance >= 0.0 && known->gap_seconds >= 0.0;
    if (!sound) {
      say(text, text_size, "settings are missing, or were not filled by mixstream_settings_init");
      return MIXSTREAM_BAD_ARGUMENT;
    }
    LoopSettings chosen = loop_settings(*known);
    Outcome<SensorLoop> loop = make(chosen);
    if (!loop) {
      say(text, text_size, loop.refusal().text);
      return status_of(loop.refusal().reason);
    }
    chosen.estimator.state = loop.value().total().state().settings();  // of the bytes, where it was loaded
    made = new mixstream_loop{chosen, std::move(loop).value()};
    say(text, text_size, "");
    return MIXSTREAM_OK;
  });
  if (status != nullptr) *status = result;
  return made;
}

mixstream_status told(mixstream_loop& loop, const Report& report) noexcept {
  say(loop, report.words);
  return status_of(report.status);
}

}  // namespace

extern "C" {

uint32_t mixstream_abi_version(void) {
  return MIXSTREAM_ABI_VERSION;
}

const char* mixstream_status_name(mixstream_status status) {
  return named(status).name;
}

const char* mixstream_status_text(mixstream_status status) {
  return named(status).text;
}

void mixstream_settings_init_sized(mixstream_settings* settings, size_t size) {
  if (settings == nullptr || size < first_settings_size) return;
  const mixstream_settings filled = defaults(std::min(size, sizeof filled));
  std::memcpy(settings, &filled, filled.size);
}

void mixstream_settings_init(mixstream_settings* settings) {
  mixstream_settings_init_sized(settings, first_settings_size);
}

mixstream_loop* mixstream_create(const mixstream_settings* settings, mixstream_status* status, char* text,
                                 size_t text_size) {
  return make_loop(settings, status, text, text_size, [&](const LoopSettings& chosen) -> Outcome<SensorLoop> {
    Outcome<Estimator> estimator = Estimator::create(chosen.estimator);
    if (!estimator) return estimator.refusal();
    estimator.value().go_on_at({0, settings->source});
    return SensorLoop::resume(std::move(estimator).value(), chosen);
  });
}

mixstream_loop* mixstream_load(const void* bytes, size_t byte_count, const mixstream_settings* settings,
                               mixstream_status* status, char* text, size_t text_size) {
  return make_loop(settings, status, text, text_size, [&](const LoopSettings& chosen) -> Outcome<SensorLoop> {
    if (bytes == nullptr) return Refusal{Reason::bad_snapshot, "there are no bytes to load"};
    Outcome<Estimator> estimator =
        Estimator::decode({static_cast<const std::byte*>(bytes), byte_count}, chosen.estimator);
    if (!estimator) return estimator.refusal();
    return SensorLoop::resume(std::move(estimator).value(), chosen);
  });
}

void mixstream_destroy(mixstream_loop* loop) {
  delete loop;
}

mixstream_status mixstream_absorb(mixstream_loop* loop, const double* features, size_t feature_count,
                                  double response) {
  return mixstream_absorb_row(loop, features, feature_count, response, 1.0, 0.0);
}

mixstream_status mixstream_absorb_row(mixstream_loop* loop, const double* features, size_t feature_count,
                                      double response, double weight, double time) {
  if (loop == nullptr || features == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  return status_of(loop->loop.absorb({{features, feature_count}, response, weight, time}));
}

mixstream_status mixstream_absorb_sensor(mixstream_loop* loop, const double* features, size_t feature_count,
                                         double response, double weight, double time, uint64_t sensor) {
  if (loop == nullptr || features == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  return status_of(loop->loop.absorb({{features, feature_count}, response, weight, time, sensor}));
}

mixstream_status mixstream_modes(const mixstream_loop* loop, uint64_t sensor, double* probabilities,
                                 size_t component_count) {
  if (loop == nullptr || probabilities == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  return loop->loop.modes(sensor, {probabilities, component_count}) ? MIXSTREAM_OK : MIXSTREAM_NO_FIT_YET;
}

mixstream_status mixstream_modes_ahead(const mixstream_loop* loop, uint64_t sensor, uint32_t rows_ahead,
                                       double* probabilities, size_t component_count) {
  if (loop == nullptr || probabilities == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  return loop->loop.modes(sensor, {probabilities, component_count}, rows_ahead) ? MIXSTREAM_OK
                                                                                : MIXSTREAM_NO_FIT_YET;
}

mixstream_status mixstream_rows_left(const mixstream_loop* loop, uint64_t sensor, double* rows) {
  if (loop == nullptr || rows == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  const std::optional<double> left = loop->loop.rows_left(sensor);
  if (!left) return MIXSTREAM_NO_FIT_YET;
  *rows = *left;
  return MIXSTREAM_OK;
}

mixstream_status mixstream_classify(const mixstream_loop* loop, const double* features, size_t feature_count,
                                    double response, size_t* component) {
  if (loop == nullptr || features == nullptr || component == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  const Layout& layout = loop->settings.estimator.state.layout;
  const Row row{{features, feature_count}, response};
  const RowFault fault = check(row, static_cast<std::size_t>(layout.feature_count), layout.constant_feature);
  if (fault != RowFault::none) return status_of(fault);
  const std::optional<std::size_t> found = loop->loop.classify(row);
  if (!found) return MIXSTREAM_NO_FIT_YET;
  *component = *found;
  return MIXSTREAM_OK;
}

mixstream_status mixstream_probabilities(const mixstream_loop* loop, const double* features,
                                         size_t feature_count, double response, double* probabilities,
                                         size_t component_count) {
  std::size_t component = 0;
  const mixstream_status status = mixstream_classify(loop, features, feature_count, response, &component);
  if (status != MIXSTREAM_OK) return status;
  if (probabilities == nullptr || component_count != mixstream_component_count(loop))
    return MIXSTREAM_BAD_ARGUMENT;
  loop->loop.probabilities({{features, feature_count}, response}, {probabilities, component_count});
  return MIXSTREAM_OK;
}

uint64_t mixstream_rows(const mixstream_loop* loop) {
  return loop == nullptr ? 0 : loop->loop.rows();
}

size_t mixstream_component_count(const mixstream_loop* loop) {
  return loop == nullptr ? 0 : loop->loop.fit().component_count();
}

mixstream_status mixstream_law(const mixstream_loop* loop, size_t component, double* weight,
                               double* coefficients, size_t feature_count, double* noise_variance) {
  if (loop == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  const Mixture& fit = loop->loop.fit();
  if (fit.component_count() == 0) return MIXSTREAM_NO_FIT_YET;
  if (component >= fit.component_count() || coefficients == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  if (feature_count != fit.feature_count) return MIXSTREAM_WRONG_WIDTH;
  std::ranges::copy(fit.law(component), coefficients);
  if (weight != nullptr) *weight = fit.weights[component];
  if (noise_variance != nullptr) *noise_variance = fit.noise_variances[component];
  return MIXSTREAM_OK;
}

mixstream_status mixstream_request_refit(mixstream_loop* loop) {
  if (loop == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  loop->loop.request_refit();
  return MIXSTREAM_OK;
}

mixstream_status mixstream_refit(mixstream_loop* loop) {
  if (loop == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  return guarded([&] {
    const std::optional<Report> report = loop->loop.refit();
    return report ? told(*loop, *report) : MIXSTREAM_NOTHING_TO_DO;
  });
}

mixstream_status mixstream_refit_step(mixstream_loop* loop, uint64_t budget_nanoseconds) {
  if (loop == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  return guarded([&] {
    const auto budget = std::chrono::nanoseconds(std::min<std::uint64_t>(budget_nanoseconds, 1ULL << 60));
    const std::optional<Report> report = loop->loop.refit_step(budget);
    if (report) return told(*loop, *report);
    return loop->loop.refit_is_under_way() ? MIXSTREAM_NOT_DONE : MIXSTREAM_NOTHING_TO_DO;
  });
}

const char* mixstream_words(const mixstream_loop* loop) {
  return loop == nullptr ? "" : loop->words.data();
}

mixstream_status mixstream_save(mixstream_loop* loop, void* bytes, size_t capacity, size_t* needed) {
  if (loop == nullptr || needed == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  return guarded([&] {
    const Bytes content = loop->loop.whole().encode();
    *needed = content.size();
    if (bytes == nullptr || capacity < content.size()) return MIXSTREAM_TOO_LARGE;
    std::memcpy(bytes, content.data(), content.size());
    return MIXSTREAM_OK;
  });
}

mixstream_status mixstream_moments(const mixstream_loop* loop, mixstream_moment moment, int32_t degree,
                                   double* values, size_t capacity, size_t* needed) {
  if (loop == nullptr || needed == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  return guarded([&] {
    return copy_moments(loop->loop.whole().state().moments(), moment, degree, values, capacity, *needed);
  });
}

mixstream_status mixstream_merge(mixstream_loop* loop, const mixstream_loop* other) {
  if (loop == nullptr || other == nullptr || loop == other) return MIXSTREAM_BAD_ARGUMENT;
  return guarded([&] {
    Estimator merged = loop->loop.whole();
    if (const Done done = merged.merge(other->loop.whole()); !done) {
      say(*loop, done.refusal().text);
      return status_of(done.refusal().reason);
    }
    Outcome<SensorLoop> resumed = SensorLoop::resume(std::move(merged), loop->settings);
    if (!resumed) {
      say(*loop, resumed.refusal().text);
      return status_of(resumed.refusal().reason);
    }
    loop->loop = std::move(resumed).value();
    return MIXSTREAM_OK;
  });
}

}  // extern "C"
