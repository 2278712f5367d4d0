#include "mixstream/doubts/extension.hpp"

#include <algorithm>
#include <cmath>

namespace mixstream {
namespace {

constexpr double least_chance = 1e-6;  // of a law without rows

std::vector<std::vector<std::size_t>> each(std::size_t first, std::size_t count) {
  std::vector<std::vector<std::size_t>> sums;
  for (std::size_t i = 0; i < count; ++i) sums.push_back({first + i});
  return sums;
}

}  // namespace

Extension::Extension(const ModeShape& shape, const HeldDesign& design, const RawUnits& units, Concern concern)
    : shape_(shape), design_(design), concern_(concern), k_(shape.component_count) {
  for (std::size_t j = 0; j < shape.feature_count; ++j) {
    if (!units.is_constant(j)) moving_.push_back(j);
  }
  if (concern == Concern::rows) {
    add_terms(units);
    if (k_ > 1 && shape.modes != Modes::persistent) add_gates();
    add_noise();
  } else {
    add_order();
  }
}

Look& Extension::add_look(DoubtKind kind, std::size_t family) {
  looks_.emplace_back();
  looks_.back().doubt.kind = kind;
  looks_.back().family = family;
  return looks_.back();
}

/// For all laws the same (one dimension) or each its own (k), told as one doubt; and for one law, whichever.
void Extension::add_terms(const RawUnits& units) {
  for (const Regressor& term : design_.terms) {
    const std::size_t first = take(k_);
    const auto complete = [&](Look& look, std::vector<std::vector<std::size_t>> sums,
                              std::vector<std::size_t> laws) {
      look.doubt.term = term.name;
      look.sums = std::move(sums);
      look.laws = std::move(laws);
      look.unit = term.unit * units.response_scale();
      look.is_term = true;
    };
    std::vector<std::size_t> all, laws;
    for (std::size_t h = 0; h < k_; ++h) {
      all.push_back(first + h);
      laws.push_back(h);
    }
    const std::size_t family = families_++;
    complete(add_look(DoubtKind::missing_term, family), {all}, {k_});
    if (k_ == 1) continue;
    complete(add_look(DoubtKind::missing_term, family), each(first, k_), laws);
    const std::size_t single = families_++;
    for (std::size_t h = 0; h < k_; ++h) {
      Look& look = add_look(DoubtKind::missing_term_of_one_law, single);
      complete(look, {{first + h}}, {h});
      look.doubt.law = h;
    }
  }
}

void Extension::add_gates() {
  for (const Regressor& gate : design_.gates) {
    Look& look = add_look(DoubtKind::gate, families_++);
    look.doubt.term = gate.name;
    look.sums = each(take(k_ - 1), k_ - 1);
    look.unit = gate.unit;
  }
}

void Extension::add_noise() {
  for (const Regressor& column : design_.spreads) {
    Look& look = add_look(DoubtKind::growing_noise, families_++);
    look.doubt.term = column.name;
    look.sums = each(take(1), 1);
    look.unit = 0.5 * column.unit;  // of log s, not log s^2
  }
  if (k_ > 1 && shape_.noise == NoiseModel::shared)
    add_look(DoubtKind::unequal_noise, families_++).sums = each(take(k_ - 1), k_ - 1);
  add_look(DoubtKind::skewed_noise, families_++).sums = each(take(1), 1);
  if (!shape_.noise_shape.tails) add_look(DoubtKind::tails, families_++).sums = each(take(1), 1);
}

void Extension::add_order() {
  if (k_ > 1 && shape_.modes != Modes::persistent)
    add_look(DoubtKind::persistence, families_++).sums = each(take(1), 1);
  if (!shape_.noise_shape.memory) add_look(DoubtKind::memory, families_++).sums = each(take(1), 1);
  if (moving_.empty()) return;
  add_delay(1.0);
  if (!shape_.remembers()) add_delay(-1.0);  // needs the row after, which is no past
}

void Extension::add_delay(double lag) {
  Look& look = add_look(DoubtKind::delay, families_++);
  look.sums = each(take(k_ * moving_.size()), k_ * moving_.size());
  look.doubt.size = lag;
}

void Extension::score_rows(const Sight& sight, std::size_t t, double*& into) const noexcept {
  for (const Regressor& term : design_.terms) {
    for (std::size_t h = 0; h < k_; ++h) *into++ = sight.influence[h] * term.values[t];
  }
  if (k_ > 1 && shape_.modes != Modes::persistent) {
    for (const Regressor& gate : design_.gates) {
      for (std::size_t h = 0; h + 1 < k_; ++h)
        *into++ = (sight.posterior[h] - sight.chances[h]) * gate.values[t];
    }
  }
  double all = 0.0;
  for (const double spread : sight.spread) all += spread;
  for (const Regressor& column : design_.spreads) *into++ = all * column.values[t];
  if (k_ > 1 && shape_.noise == NoiseModel::shared) {
    for (std::size_t h = 0; h + 1 < k_; ++h) *into++ = sight.spread[h];
  }
  *into++ = sight.third;
  if (!shape_.noise_shape.tails) *into++ = sight.fourth;
}

// A = (1 - a) 1 pi' + a 1: sum_h r_h r'_h / pi_h - 1. Beside a gate pi_h is as small as it likes, and a
// single row would decide; there P(h | h', x) ~ pi_h(x) exp(a [h = h']): sum_h (r_h - pi_h) r'_h, which is
// bounded.
double Extension::persistence_score(const Sight& sight, const RowBefore& before) const noexcept {
  double score = shape_.modes == Modes::gated ? 0.0 : -1.0;
  for (std::size_t h = 0; h < k_; ++h) {
    score += shape_.modes == Modes::gated
                 ? (sight.posterior[h] - sight.chances[h]) * before.posterior[h]
                 : sight.posterior[h] * before.posterior[h] / std::max(sight.chances[h], least_chance);
  }
  return score;
}

void Extension::score_order(const Sight& sight, const RowBefore& before, std::size_t t,
                            double*& into) const noexcept {
  if (k_ > 1 && shape_.modes != Modes::persistent) *into++ = persistence_score(sight, before);
  if (!shape_.noise_shape.memory) *into++ = sight.centre * before.centre;
  for (std::size_t h = 0; h < k_; ++h) {
    for (const std::size_t j : moving_) *into++ = sight.influence[h] * before.features[j];
  }
  if (shape_.remembers()) return;
  for (std::size_t h = 0; h < k_; ++h) {
    for (const std::size_t j : moving_) *into++ = before.influence[h] * design_.rows[t].row.features[j];
  }
}

void Extension::score(const Sight& sight, const RowBefore& before, std::size_t t,
                      std::span<double> into) const noexcept {
  double* place = into.data();
  if (concern_ == Concern::rows)
    score_rows(sight, t, place);
  else if (before.known)
    score_order(sight, before, t, place);
  else
    std::ranges::fill(into, 0.0);
}

}  // namespace mixstream
