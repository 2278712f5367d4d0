#include "mixstream/doubts/look_search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "mixstream/doubts/refit.hpp"

namespace mixstream {
namespace {

bool tells_the_same(const Doubt& one, const Doubt& other) {
  const auto is_term = [](const Doubt& doubt) {
    return doubt.kind == DoubtKind::missing_term || doubt.kind == DoubtKind::missing_term_of_one_law;
  };
  if (is_term(one) && is_term(other)) return one.term == other.term;
  return one.kind == other.kind && one.kind == DoubtKind::delay;
}

/// The size of one step, in the kind's unit.
double size_by_step(const Look& look, const LookResult& result, const ModeModel& model, bool gated) {
  const auto largest = *std::ranges::max_element(result.step, {}, [](double step) { return std::abs(step); });
  const auto range = [&] {
    const auto [low, high] = std::ranges::minmax(result.step);
    return std::max(high, 0.0) - std::min(low, 0.0);
  };
  switch (look.doubt.kind) {
    case DoubtKind::delay:
      return look.doubt.size;
    case DoubtKind::unequal_noise:
      return std::exp(0.5 * std::min(range(), 20.0));
    case DoubtKind::gate:
      return range() * look.unit;
    case DoubtKind::persistence: {
      double changes = 0.0;  // a row, by the parameter of Extension::persistence_score
      for (const double weight : model.laws.weights) {
        const double leave = gated ? 1.0 / (weight * std::exp(std::min(largest, 50.0)) + 1.0 - weight)
                                   : 1.0 - std::clamp(largest, -1.0, 0.9999);
        changes += weight * (1.0 - weight) * leave;
      }
      return 1.0 / std::max(changes, 1e-9);
    }
    default:
      return largest * look.unit;
  }
}

}  // namespace

LookSearch::LookSearch(const ModeModel& model, const ModeShape& shape, const RawUnits& units,
                       HeldDesign design, Concern concern, double all_rows)
    : model_(model),
      shape_(shape),
      design_(std::move(design)),
      extension_(shape, design_, units, concern),
      all_rows_(std::max(all_rows, design_.weight)) {}

void LookSearch::see(const Watch& watch) {
  sums_ = sums_of(model_, shape_, design_, extension_, watch);
  projection_.emplace(sums_);
  families_.resize(extension_.families());
  for (const Look& look : extension_.looks()) {
    families_[look.family].doubt = look.doubt;
    ++families_[look.family].looks;
  }
}

void LookSearch::test(bool dependent, bool gates_by_stretches) {
  std::vector<double> least(families_.size(), 1.0);
  std::vector<LookResult> best(families_.size());
  for (LookFamily& family : families_) family.strength = -1e300;
  for (std::size_t l = 0; l < look_count(); ++l) {
    const Look& look = extension_.looks()[l];
    LookFamily& family = families_[look.family];
    if (!family.open) continue;
    LookResult result = projection_->test(look);
    if (result.dof == 0) continue;
    const bool by_stretches = dependent || (gates_by_stretches && look.doubt.kind == DoubtKind::gate);
    if (by_stretches) result.p = std::max(result.p, result.batch_p);
    least[look.family] = std::min(least[look.family], result.p);
    const double strength = result.statistic - static_cast<double>(result.dof) * std::log(sums_.rows);
    if (strength <= family.strength) continue;
    family.strength = strength;
    family.look = l;
    best[look.family] = std::move(result);
  }
  for (std::size_t f = 0; f < families_.size(); ++f) {
    LookFamily& family = families_[f];
    if (!family.open) continue;
    if (best[f].dof > 0) describe(extension_.looks()[family.look], best[f], family.doubt);
    family.doubt.adjusted_p = std::min(1.0, least[f] * static_cast<double>(family.looks));
  }
}

bool LookSearch::take_strongest(double level) {
  LookFamily* best = nullptr;
  for (LookFamily& family : families_) {
    const bool sure = family.open && std::max(family.doubt.adjusted_p, family.doubt.p) < level;
    if (sure && (best == nullptr || family.strength > best->strength)) best = &family;
  }
  if (best == nullptr) return false;
  best->doubt.raised = true;
  best->open = false;
  for (LookFamily& family : families_) {
    if (family.open && tells_the_same(family.doubt, best->doubt)) {
      family.open = false;
      family.doubt.adjusted_p = 1.0;
    }
  }
  projection_->take(extension_.looks()[best->look]);
  return true;
}

/// By the model a step away; `terms`: the coefficients of a missing term. What a row takes from the row
/// before it predicts is left out: the laws say how much that is. So a gate stays where it is.
double LookSearch::prediction_by_step(const Look& look, const LookResult& result,
                                      std::span<const double> terms) {
  std::vector<double> theta = to_parameters(model_, shape_);
  for (std::size_t q = 0; q < theta.size(); ++q) theta[q] += result.move[q];
  ModeModel moved = model_;
  from_parameters(theta, shape_, moved);
  const DoubtKind kind = look.doubt.kind;
  const bool about_order =
      kind == DoubtKind::persistence || kind == DoubtKind::memory || kind == DoubtKind::delay;
  if (about_order) moved.gate = model_.gate;
  if (shape_.modes != Modes::gated && look.doubt.kind != DoubtKind::gate)
    return prediction_shift(model_.laws, moved.laws, terms, design_.features);
  const auto regressor = [&](const std::vector<Regressor>& all) -> std::span<const double> {
    const auto found = std::ranges::find(all, look.doubt.term, &Regressor::name);
    return found == all.end() ? std::span<const double>() : std::span(found->values);
  };
  ModeShape wider = shape_;
  Predictor after{moved, wider};
  if (look.is_term) {
    after.more = regressor(design_.terms);
    ++wider.feature_count;
    moved = with_feature(moved, terms);
  }
  std::vector<double> tilts;
  if (look.doubt.kind == DoubtKind::gate) {
    tilts.assign(result.step.begin(), result.step.end());
    tilts.resize(shape_.component_count);  // of the last law: none
    after.tilts = tilts;
    after.tilted_by = regressor(design_.gates);
  }
  if (expected_.empty()) expected_ = expectations({model_, shape_}, design_.rows);
  return prediction_shift(expected_, after, design_.rows, model_);
}

void LookSearch::describe(const Look& look, const LookResult& result, Doubt& doubt) {
  doubt.law = look.doubt.law;
  doubt.statistic = result.statistic;
  doubt.dof = result.dof;
  doubt.size = size_by_step(look, result, model_, shape_.modes == Modes::gated);
  doubt.explained = 0.5 * std::max(result.statistic - static_cast<double>(result.dof), 0.0) / sums_.rows;
  const std::size_t k = shape_.component_count;
  std::vector<double> terms(k);
  for (std::size_t i = 0; i < look.laws.size(); ++i) {
    for (std::size_t h = 0; h < k; ++h) {
      if (look.laws[i] == h || look.laws[i] == k) terms[h] += result.step[i];
    }
  }
  doubt.shift = law_shift(std::span(result.move).first(shape_.who_at()), terms, model_, design_.features);
  doubt.prediction = prediction_by_step(look, result, terms);
  doubt.shift_in_errors = 0.0;
  const double fewer = sums_.rows / all_rows_;
  for (std::size_t q = 0; q < shape_.who_at(); ++q) {
    const double error = std::sqrt(std::max(projection_->variance(q) * fewer, 1e-300));
    doubt.shift_in_errors = std::max(doubt.shift_in_errors, std::abs(result.move[q]) / error);
  }
}

}  // namespace mixstream
