#include "mixstream/following/mode_driver.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "mixstream/likelihood/matching.hpp"
#include "mixstream/modes/gated_start.hpp"

namespace mixstream {
namespace {

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

/// The mixture with one law fewer: the two whose lines differ least over the runs, in noise, become their
/// mean.
Mixture nearest_joined(const Mixture& laws, const Runs& runs) {
  const std::size_t k = laws.component_count();
  const std::size_t d = laws.feature_count;
  std::vector<double> apart(k * k);
  std::vector<bool> seen(runs.slots());
  for (std::size_t t = 0; t < runs.size(); t += 8) {
    const Row row = runs.row(t, seen).row;
    for (std::size_t a = 0; a < k; ++a) {
      for (std::size_t b = a + 1; b < k; ++b) {
        double gap = 0.0;
        for (std::size_t j = 0; j < d; ++j) gap += (laws.law(a)[j] - laws.law(b)[j]) * row.features[j];
        apart[a * k + b] += gap * gap / (laws.noise_variances[a] + laws.noise_variances[b]);
      }
    }
  }
  std::size_t one = 0;
  std::size_t other = 1;
  for (std::size_t a = 0; a < k; ++a) {
    for (std::size_t b = a + 1; b < k; ++b) {
      if (apart[a * k + b] < apart[one * k + other]) std::tie(one, other) = std::pair(a, b);
    }
  }
  Mixture joined = empty_mixture(k - 1, d);
  for (std::size_t h = 0, at = 0; h < k; ++h) {
    if (h == other) continue;
    const double more = h == one ? laws.weights[other] : 0.0;
    const double total = std::max(laws.weights[h] + more, 1e-300);
    joined.weights[at] = total;
    joined.noise_variances[at] = laws.noise_variances[h];
    for (std::size_t j = 0; j < d; ++j)
      joined.law(at)[j] = (laws.weights[h] * laws.law(h)[j] + more * laws.law(other)[j]) / total;
    ++at;
  }
  return joined;
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
  driver.too_many_laws_ = state.too_many_laws;
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
  ModeDriverState state{chains_.state(), runs_.state(), {}, {}, resets_, too_many_laws_};
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

/// Whether the two laws that lie nearest to each other may as well be one: by BIC on the held rows.
bool ModeDriver::one_too_many(const SettledModel& settled, const HeldRows& held) const {
  const std::size_t k = settings_.shape.component_count;
  if (k < 2) return false;
  ModeShape smaller = settings_.shape;
  smaller.component_count = k - 1;
  if (k == 2 && smaller.modes != Modes::independent) {
    smaller.modes = Modes::independent;
    smaller.gate.clear();
  }
  const SettledModel fewer = settle(nearest_joined(settled.model.laws, *held.runs), smaller, held);
  const double rows = static_cast<double>(held.runs->size() + (held.sample ? held.sample->size() : 0));
  const auto parameters = static_cast<double>(settings_.shape.parameters() - smaller.parameters());
  return 2.0 * (settled.log_likelihood - fewer.log_likelihood) < parameters * std::log(rows);
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
    if (!best || (too_many_laws_ = one_too_many(*best, rows_held))) return false;
    begin(best->model, rows_held, labels);
    return true;
  }
  const SettledModel own = settle(polish_->fit().model, settings_.shape, rows_held);
  const double better = settings_.better_by + 0.5 * static_cast<double>(settings_.shape.parameters());
  too_many_laws_ = one_too_many(own, rows_held);
  if (!best || !(best->log_likelihood > own.log_likelihood + better)) return false;
  const Mixture before = polish_->anchor().laws;
  begin(best->model, rows_held, &before);
  return true;
}

std::optional<ModeDriver::Preview> ModeDriver::preview(std::span<const Mixture> laws, const RowTable& sample,
                                                       std::uint64_t rows, const Mixture* labels) const {
  if (runs_.size() == 0) return {};
  const HeldRows rows_held = held(sample, rows);
  const std::optional<SettledModel> best = best_of(laws, rows_held);
  if (!best) return {};
  return Preview{polish_of_runs(labelled(best->model, labels), settings_.shape, rows_held, settings_.polish),
                 one_too_many(*best, rows_held)};
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
    ModePolishSettings settled = settings_.polish;
    settled.first_move = settled.move_every;  // the anchor is good: few rows must not move it
    result.polish_.emplace(polish_->anchor(), settings_.shape, settled);
    result.drift_.emplace(settings_.shape, settings_.drift);
  }
  return result;
}

}  // namespace mixstream
