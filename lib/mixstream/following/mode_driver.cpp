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

Mixture without_law(const Mixture& laws, std::size_t left_out) {
  Mixture fewer = empty_mixture(laws.component_count() - 1, laws.feature_count);
  const double rest = std::max(1.0 - laws.weights[left_out], 1e-12);
  for (std::size_t h = 0, at = 0; h < laws.component_count(); ++h) {
    if (h == left_out) continue;
    fewer.weights[at] = laws.weights[h] / rest;
    fewer.noise_variances[at] = laws.noise_variances[h];
    std::ranges::copy(laws.law(h), fewer.law(at++).begin());
  }
  return fewer;
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
  driver.chosen_ = state.chosen;
  if (state.trial) {
    Outcome<Trial> trial = Trial::restore(*state.trial);
    if (!trial) return trial.refusal();
    driver.trial_ = std::move(trial).value();
  }
  if (!state.polish) return driver;
  if (settings.choice.any()) driver.settings_.shape = state.polish->shape;
  if (!(state.polish->shape == driver.settings_.shape) || state.polish->settings.most_chains != slots)
    return refusal;
  Outcome<ModePolish> polish = ModePolish::restore(*state.polish);
  if (!polish) return polish.refusal();
  Outcome<ModeDrift> drift = ModeDrift::restore(*state.drift, driver.settings_.shape);
  if (!drift) return drift.refusal();
  driver.polish_ = std::move(polish).value();
  driver.drift_ = std::move(drift).value();
  const std::size_t k = driver.settings_.shape.component_count;
  if (!state.trace || !ModeTrace::is_sound(*state.trace, k, slots)) return refusal;
  driver.begin_trace();
  driver.trace_->restore(*state.trace);
  return driver;
}

ModeDriverState ModeDriver::state() const {
  ModeDriverState state{chains_.state(), runs_.state(), {}, {}, resets_, too_many_laws_, {}, chosen_, {}};
  if (polish_) state.polish = polish_->state();
  if (drift_) state.drift = drift_->state();
  if (trace_) state.trace = trace_->state();
  if (trial_) state.trial = trial_->state();
  return state;
}

std::optional<DriftEvent> ModeDriver::absorb(const Row& row) noexcept {
  if (!polish_ && !trial_ && settings_.choice.any() && runs_.pass()) return {};
  const ChainTable::Step step = chains_.next(row.sensor, row.time);
  runs_.add(row, step);
  if (trial_) trial_->absorb(row, step);
  if (!polish_) return {};
  const bool completed = polish_->absorb(row, step);
  trace_->add(step, polish_->modes_of(step.slot));
  if (!completed) return {};
  const std::optional<DriftEvent> event = drift_->add(*polish_);
  if (!(in_doubt() || polish_->rows() < settings_.settle_rows)) return event;
  // One check may come too early to find what is wrong: while the rows contradict the polish ask again.
  const auto asks = [](std::uint64_t count) {
    return std::floor(4.0 * std::log2(static_cast<double>(count)));
  };
  const std::uint64_t count = polish_->rows();
  const bool again = drift_->contradicts() && asks(count) > asks(count - ModePolish::block_rows);
  wants_check_ = wants_check_ || event || again;
  return {};
}

void ModeDriver::absorb_raw(const Row& row) noexcept {
  runs_.expect_raw();
  runs_.add(row, chains_.next(row.sensor, row.time));
}

/// While the runs are nearly the whole stream, its sample says nothing more, and their weights are the rows'
/// own; later they are drawn from it, as the sample is.
HeldRows ModeDriver::held(const RowTable& sample, std::uint64_t rows) const {
  const bool runs_are_stream = static_cast<double>(rows) < 1.2 * static_cast<double>(runs_.size());
  if (runs_are_stream) return {&runs_, nullptr, chains_.capacity()};
  double weight = 0.0, squares = 0.0;
  std::vector<bool> seen(chains_.capacity() + 1);
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const double own = runs_.row(i, seen).row.weight;
    weight += own;
    squares += own * own;
  }
  return {&runs_, &sample, chains_.capacity(), squares > 0.0 ? weight / squares : 1.0};
}

std::optional<SettledModel> ModeDriver::best_of(std::span<const Mixture> laws, const ModeShape& shape,
                                                const HeldRows& held) const {
  std::optional<SettledModel> best;
  const auto consider = [&](SettledModel settled) {
    if (!is_finite(settled.model.laws) || !std::isfinite(settled.log_likelihood)) return;
    if (!best || settled.log_likelihood > best->log_likelihood) best = std::move(settled);
  };
  for (const Mixture& candidate : laws) consider(settle(candidate, shape, held));
  for (const ModeModel& start : sliced_starts(shape, table_of(held, shape)))
    consider(settle(start, shape, held));
  return best;
}

/// Whether one law fewer explains the held rows as well, by BIC: the two that lie nearest to each other made
/// one, or any of them left out, whichever is likeliest.
bool ModeDriver::one_too_many(const SettledModel& settled, const ModeShape& shape,
                              const HeldRows& held) const {
  const std::size_t k = shape.component_count;
  if (k < 2) return false;
  ModeShape smaller = shape;
  smaller.component_count = k - 1;
  if (k == 2 && smaller.modes != Modes::independent) {
    smaller.modes = Modes::independent;
    smaller.gate.clear();
  }
  const double rows = held.weight();
  const auto parameters = static_cast<double>(shape.parameters() - smaller.parameters());
  const double enough = settled.log_likelihood - 0.5 * parameters * std::log(rows);
  const auto explains = [&](const Mixture& start) {
    return settle(start, smaller, held).log_likelihood > enough;
  };
  if (explains(nearest_joined(settled.model.laws, *held.runs))) return true;
  for (std::size_t h = 0; h < k && k > 2; ++h) {
    if (explains(without_law(settled.model.laws, h))) return true;
  }
  return false;
}

void ModeDriver::begin(const ModeModel& model, const HeldRows& held, const Mixture* labels) {
  std::optional<ModeFit> older;
  if (polish_) {
    ++resets_;
    older = polish_->fit();
  }
  polish_ = polish_of_runs(labelled(model, labels), settings_.shape, held, settings_.polish);
  if (older) polish_->take_over(*older, 1.0 - static_cast<double>(runs_.size()) / std::max(older->rows, 1.0));
  drift_.emplace(settings_.shape, settings_.drift);
  if (!trace_ || trace_->component_count() != settings_.shape.component_count) begin_trace();
  chains_.restart();  // what the polish knows of them is the end of a run
}

void ModeDriver::begin_trace() {
  trace_.emplace(settings_.shape.component_count, chains_.capacity());
}

bool ModeDriver::describe_now(ModesNow& now) const {
  if (!polish_ || settings_.shape.modes == Modes::independent) return false;
  const DenseMatrix& transitions = polish_->anchor().transitions;
  now.kind = settings_.shape.modes;
  now.transitions.rows = transitions.rows;
  now.transitions.columns = transitions.columns;
  now.transitions.values.assign(transitions.values.begin(), transitions.values.end());
  now.sensors.clear();
  now.probabilities.clear();
  for (const ChainState::Entry& entry : chains_.state().entries) {
    const std::optional<std::size_t> slot = chains_.slot_of(entry.sensor);
    if (!slot) continue;
    if (*slot == chains_.newest()) now.newest = now.sensors.size();
    now.sensors.push_back(entry.sensor);
    const auto modes = polish_->modes_of(*slot);
    now.probabilities.insert(now.probabilities.end(), modes.begin(), modes.end());
  }
  return true;
}

bool ModeDriver::reconcile(std::span<const Mixture> laws, const RowTable& sample, std::uint64_t rows,
                           const Mixture* labels) {
  wants_check_ = false;
  const HeldRows rows_held = held(sample, rows);
  std::optional<SettledModel> best = best_of(laws, settings_.shape, rows_held);
  if (!polish_) {
    if (!best || (too_many_laws_ = one_too_many(*best, settings_.shape, rows_held))) return false;
    begin(best->model, rows_held, labels);
    return true;
  }
  const ModeModel stands = polish_->fit().model;
  SettledModel own = settle(stands, settings_.shape, rows_held);
  const double better = settings_.better_by + 0.5 * static_cast<double>(settings_.shape.parameters());
  const bool others = best && best->log_likelihood > own.log_likelihood + better;
  if (!others) best = std::move(own);
  too_many_laws_ = one_too_many(*best, settings_.shape, rows_held);
  if (!others && !in_doubt()) return false;  // it knows more than the held rows do
  if (!(best->log_likelihood > likelihood_of(stands, settings_.shape, rows_held) + better)) return false;
  const Mixture before = polish_->anchor().laws;
  begin(best->model, rows_held, &before);
  return true;
}

std::optional<ModeDriver::Preview> ModeDriver::preview(std::span<const Mixture> laws, const RowTable& sample,
                                                       std::uint64_t rows, const Mixture* labels) const {
  if (runs_.size() == 0 || runs_.raw()) return {};
  const HeldRows rows_held = held(sample, rows);
  const std::optional<SettledModel> best = best_of(laws, settings_.shape, rows_held);
  if (!best) return {};
  return Preview{polish_of_runs(labelled(best->model, labels), settings_.shape, rows_held, settings_.polish),
                 one_too_many(*best, settings_.shape, rows_held)};
}

std::optional<ModeDriver::Candidate> ModeDriver::candidate(const ModeShape& shape,
                                                           std::span<const Mixture> laws,
                                                           const RowTable& sample, std::uint64_t rows) const {
  if (runs_.size() == 0 || runs_.raw()) return {};
  const HeldRows rows_held = held(sample, rows);
  const std::optional<SettledModel> best = best_of(laws, shape, rows_held);
  if (!best) return {};
  const double count = rows_held.weight();
  const double bic = -2.0 * best->log_likelihood + static_cast<double>(shape.parameters()) * std::log(count);
  return Candidate{shape, best->model, best->log_likelihood, bic, count, {}};
}

bool ModeDriver::too_many_laws(const Candidate& candidate, const RowTable& sample, std::uint64_t rows) const {
  return one_too_many({candidate.model, candidate.log_likelihood}, candidate.shape, held(sample, rows));
}

ModePolish ModeDriver::polish_of(const Candidate& candidate, const RowTable& sample, std::uint64_t rows,
                                 const Mixture* labels) const {
  return polish_of_runs(labelled(candidate.model, labels), candidate.shape, held(sample, rows),
                        settings_.polish);
}

void ModeDriver::begin_trial(const Candidate& now, std::span<const Candidate> candidates,
                             const RowTable& sample, std::uint64_t rows, const Mixture* labels) {
  std::vector<ModePolish> entrants{polish_of(now, sample, rows, labels)};
  std::vector<std::string> because{{}};
  for (const Candidate& candidate : candidates) {
    entrants.push_back(polish_of(candidate, sample, rows, labels));
    because.push_back(candidate.because);
  }
  trial_.emplace(std::move(entrants), std::move(because));
  chains_.restart();  // what the entrants know of them is the end of a run
  ++resets_;
}

bool ModeDriver::end_trial(std::uint64_t rows) {
  if (!trial_ || trial_->rows() < settings_.trial_rows) return false;
  const std::size_t best = trial_->best();
  const bool takes_over = best > 0;
  if (takes_over) {
    polish_ = trial_->entrant(best);
    settings_.shape = polish_->shape();
    drift_.emplace(settings_.shape, settings_.drift);
    begin_trace();
    chosen_.push_back({rows, settings_.shape.modes, settings_.shape.noise, settings_.shape.noise_shape,
                       trial_->gain(best), trial_->because(best)});
  }
  trial_.reset();
  ++resets_;
  return takes_over;
}

std::optional<ModePolish> ModeDriver::settled(std::uint64_t rows) const {
  if (!polish_ || rows > runs_.size() || polish_->state().growth != 1.0) return {};
  const HeldRows all{&runs_, nullptr, chains_.capacity()};
  std::optional<SettledModel> best = best_of({}, settings_.shape, all);
  SettledModel own = settle(polish_->fit().model, settings_.shape, all);
  if (!best || own.log_likelihood > best->log_likelihood) best = std::move(own);
  if (!is_finite(best->model.laws) || !std::isfinite(best->log_likelihood)) return {};
  return polish_of_runs(labelled(best->model, &polish_->anchor().laws), settings_.shape, all,
                        settings_.polish);
}

Done ModeDriver::hold(const ModeDriver& other) {
  if (other.chains_.capacity() > chains_.capacity())
    return Refusal{Reason::cannot_merge, "rows in order of more chains than these cannot be added"};
  chains_.add(other.chains_);
  runs_.add(other.runs_);
  return std::monostate{};
}

/// The other's chains stand in the other's slots: with its polish all chains begin anew.
Done ModeDriver::merge_polish(const ModeDriver& other) {
  if (!other.polish_) return std::monostate{};
  drift_.emplace(other.settings_.shape, settings_.drift);
  if (polish_) {
    trace_->append(*other.trace_);
    return polish_->merge(*other.polish_);
  }
  settings_.shape = other.settings_.shape;
  polish_ = other.polish_;
  begin_trace();
  trace_->append(*other.trace_);
  chains_.cut();
  return std::monostate{};
}

Done ModeDriver::merge(const ModeDriver& other) {
  if (polish_ && other.polish_ && !(polish_->shape() == other.polish_->shape()))
    return Refusal{Reason::cannot_merge, "only polishes of the same model can be added"};
  if (Done done = hold(other); !done) return done;
  if (Done done = merge_polish(other); !done) return done;
  if (trial_ && other.trial_ && trial_->merge(*other.trial_)) return std::monostate{};
  trial_.reset();
  return std::monostate{};
}

Done ModeDriver::take_coordinates(const Layout& layout, const Pilot& pilot) {
  runs_.take_pilot(layout, pilot);
  trial_.reset();
  chains_.cut();
  if (!polish_) return std::monostate{};
  drift_.emplace(settings_.shape, settings_.drift);
  return polish_->take_coordinates(layout, pilot);
}

ModeDriver ModeDriver::branch() const {
  ModeDriver result(settings_);
  result.chosen_ = chosen_;
  if (trial_) result.trial_ = trial_->branch();
  if (polish_) {
    ModePolishSettings settled = settings_.polish;
    settled.first_move = settled.move_every;  // the anchor is good: few rows must not move it
    result.polish_.emplace(polish_->anchor(), settings_.shape, settled);
    result.drift_.emplace(settings_.shape, settings_.drift);
    result.begin_trace();
  }
  return result;
}

}  // namespace mixstream
