#include "mixstream/following/mode_driver.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "mixstream/likelihood/matching.hpp"
#include "mixstream/modes/gated_start.hpp"

namespace mixstream {
namespace {

constexpr std::size_t often_enough = 2;  // times that every mode must have been met before a polish begins

/// The held rows, order forgotten: gated modes only, no others need them.
RowTable table_of(const HeldRows& held, const ModeShape& shape) {
  RowTable table{shape.feature_count, {}, {}, {}};
  if (shape.modes != Modes::gated) return table;
  std::vector<bool> seen(held.slots + 1);
  for (std::size_t i = 0; i < held.runs->size(); ++i) table.add(held.runs->row(i, seen).row);
  for (std::size_t i = 0; held.sample != nullptr && i < held.sample->size(); ++i)
    table.add(held.sample->row(i));
  return table;
}

/// The model with the labels of a fit known before, or the heavier law first.
ModeModel labelled(const ModeModel& model, const Mixture* labels) {
  const std::vector<double>& weights = model.laws.weights;
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (labels != nullptr && labels->component_count() == weights.size())
    order = matching_order(*labels, model.laws);
  else
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  return relabelled(model, order);
}

}  // namespace

ModeDriver::ModeDriver(const ModeDriverSettings& settings)
    : settings_(settings), chains_(settings.chains), runs_(settings.shape.feature_count, settings.run_rows) {
  settings_.polish.most_chains = chains_.capacity();
}

Outcome<ModeDriver> ModeDriver::restore(const ModeDriverState& state, const ModeDriverSettings& settings) {
  const Refusal refusal{Reason::bad_snapshot,
                        "the rows in order in this state do not fit; refit without them"};
  const std::size_t slots = state.chains.settings.most_chains;
  if (slots == 0 || slots > 1U << 20 || state.chains.entries.size() > slots ||
      !Runs::is_sound(state.runs, slots) || state.runs.feature_count != settings.shape.feature_count ||
      state.polish.has_value() != state.drift.has_value())
    return refusal;
  ModeDriverSettings taken = settings;
  taken.chains.most_chains = slots;
  ModeDriver driver(taken);
  driver.chains_ = ChainTable(state.chains);
  driver.runs_ = Runs(state.runs);
  driver.resets_ = state.resets;
  driver.challenged_ = state.challenged;
  if (!state.polish) return driver;
  if (!(state.polish->shape == settings.shape) || state.polish->settings.most_chains != slots) return refusal;
  Outcome<ModePolish> polish = ModePolish::restore(*state.polish);
  if (!polish) return polish.refusal();
  Outcome<ModeDrift> drift = ModeDrift::restore(*state.drift, settings.shape);
  if (!drift) return drift.refusal();
  driver.polish_ = std::move(polish).value();
  driver.drift_ = std::move(drift).value();
  return driver;
}

ModeDriverState ModeDriver::state() const {
  ModeDriverState state{chains_.state(), runs_.state(), {}, {}, resets_, challenged_};
  if (polish_) state.polish = polish_->state();
  if (drift_) state.drift = drift_->state();
  return state;
}

std::optional<DriftEvent> ModeDriver::absorb(const Row& row) noexcept {
  const ChainTable::Step step = chains_.next(row.sensor, row.time);
  runs_.add(row, step);
  if (!polish_ || !polish_->absorb(row, step)) return {};
  return drift_->add(*polish_);
}

/// While the runs are nearly the whole stream, its sample says nothing more.
HeldRows ModeDriver::held(const RowTable& sample, std::uint64_t rows) const noexcept {
  const bool runs_are_stream = static_cast<double>(rows) < 1.2 * static_cast<double>(runs_.size());
  return {&runs_, runs_are_stream ? nullptr : &sample, chains_.capacity()};
}

std::optional<SettledModel> ModeDriver::best_of(std::span<const Mixture> laws, const HeldRows& held) const {
  std::optional<SettledModel> best;
  const auto consider = [&](SettledModel settled) {
    if (!is_finite(settled.model.laws) || !std::isfinite(settled.log_likelihood)) return;
    if (!best || settled.log_likelihood > best->log_likelihood) best = std::move(settled);
  };
  for (const Mixture& candidate : laws) consider(settle(candidate, settings_.shape, held));
  for (const ModeModel& start : sliced_starts(settings_.shape, table_of(held, settings_.shape)))
    consider(settle(start, settings_.shape, held));
  return best;
}

/// Whether every mode has been met often enough to say where its law lies: by stretches of rows, or, where
/// modes change too fast for stretches, by the changes that the runs promise.
bool ModeDriver::ready(const ModeModel& model, const HeldRows& held, std::uint64_t rows) const {
  if (settings_.shape.modes != Modes::persistent || rows >= settings_.patience) return true;
  const std::vector<std::size_t> met = stretches(model, settings_.shape, held);
  for (std::size_t h = 0; h < met.size(); ++h) {
    const double leaves = model.laws.weights[h] * (1.0 - model.transitions(h, h));
    const double promised = leaves * static_cast<double>(held.runs->size());
    if (met[h] < often_enough && promised < 10.0 * static_cast<double>(often_enough)) return false;
  }
  return true;
}

void ModeDriver::begin(const ModeModel& model, const HeldRows& held, const Mixture* labels) {
  if (polish_) ++resets_;
  polish_ = polish_of_runs(labelled(model, labels), settings_.shape, held, settings_.polish);
  drift_.emplace(settings_.shape, settings_.drift);
  chains_.cut();  // what the polish knows of them is the end of a run
}

bool ModeDriver::reconcile(std::span<const Mixture> laws, const RowTable& sample, std::uint64_t rows,
                           const Mixture* labels) {
  const HeldRows rows_held = held(sample, rows);
  std::optional<SettledModel> best = best_of(laws, rows_held);
  if (!polish_) {
    if (!best || !ready(best->model, rows_held, rows)) return false;
    begin(best->model, rows_held, labels);
    return true;
  }
  const SettledModel own = settle(polish_->fit().model, settings_.shape, rows_held);
  const double better = settings_.better_by + 0.5 * static_cast<double>(settings_.shape.parameters());
  challenged_ = false;
  if (!best || !(best->log_likelihood > own.log_likelihood + better)) return false;
  const Mixture before = polish_->anchor().laws;
  begin(best->model, rows_held, &before);
  return true;
}

std::optional<ModePolish> ModeDriver::preview(std::span<const Mixture> laws, const RowTable& sample,
                                              std::uint64_t rows, const Mixture* labels) const {
  if (runs_.size() == 0) return {};
  const HeldRows rows_held = held(sample, rows);
  const std::optional<SettledModel> best = best_of(laws, rows_held);
  if (!best) return {};
  return polish_of_runs(labelled(best->model, labels), settings_.shape, rows_held, settings_.polish);
}

Verdict ModeDriver::merge(const ModeDriver& other) {
  if (!polish_ || !other.polish_)
    return Refusal{Reason::cannot_merge, "only two polishes that have begun can be added"};
  if (Verdict verdict = polish_->merge(*other.polish_); !verdict) return verdict;
  drift_.emplace(settings_.shape, settings_.drift);
  return std::monostate{};
}

ModeDriver ModeDriver::branch() const {
  ModeDriver result(settings_);
  if (polish_) {
    result.polish_.emplace(polish_->anchor(), settings_.shape, settings_.polish);
    result.drift_.emplace(settings_.shape, settings_.drift);
  }
  return result;
}

}  // namespace mixstream
