#include "mixstream/doubts/refit.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "mixstream/doubts/interval_fit.hpp"
#include "mixstream/doubts/lean_fit.hpp"
#include "mixstream/doubts/prediction.hpp"
#include "mixstream/doubts/spread_fit.hpp"
#include "mixstream/linalg/products.hpp"
#include "mixstream/modes/start.hpp"

namespace mixstream {
namespace {

constexpr int refit_steps = 12;

/// The coefficient's moves of the refit beside the base, first d features of each law.
std::vector<double> moves_between(const ModeModel& base, const ModeModel& wider) {
  const std::size_t d = base.laws.feature_count;
  std::vector<double> moves;
  for (std::size_t h = 0; h < base.laws.component_count(); ++h) {
    for (std::size_t j = 0; j < d; ++j) moves.push_back(wider.laws.law(h)[j] - base.laws.law(h)[j]);
  }
  return moves;
}

double largest_ratio(const std::vector<double>& variances) {
  const auto [least, most] = std::ranges::minmax(variances);
  return std::sqrt(most / std::max(least, 1e-300));
}

double gate_range(const ModeModel& model, std::size_t term) {
  double low = 0.0, high = 0.0;
  for (std::size_t h = 0; h < model.gate.rows; ++h) {
    low = std::min(low, model.gate(h, term));
    high = std::max(high, model.gate(h, term));
  }
  return high - low;
}

const Regressor* regressor_named(const std::vector<Regressor>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &Regressor::name);
  return found == all.end() ? nullptr : &*found;
}

/// What to refit: the wider shape, where it starts, and the regressor that it has more.
struct Wider {
  ModeShape shape;
  ModeModel start;
  const Regressor* more = nullptr;
};

std::optional<Wider> wider_for(const ModeModel& model, const ModeShape& shape, const HeldDesign& design,
                               const Doubt& doubt) {
  Wider wider{shape, model, nullptr};
  switch (doubt.kind) {
    case DoubtKind::missing_term:
    case DoubtKind::missing_term_of_one_law:
      wider.more = regressor_named(design.terms, doubt.term);
      ++wider.shape.feature_count;
      wider.start = with_feature(model, std::vector<double>(shape.component_count));
      return wider.more != nullptr ? std::optional(wider) : std::nullopt;
    case DoubtKind::unequal_noise:
      wider.shape.noise = NoiseModel::per_component;
      return wider;
    case DoubtKind::tails:
      if (doubt.size <= 0.0) return std::nullopt;  // lighter than Gaussian
      wider.shape.noise_shape.tails = true;
      wider.start.degrees_of_freedom = 10.0;
      for (double& variance : wider.start.laws.noise_variances) variance *= 0.8;
      return wider;
    case DoubtKind::memory:
      wider.shape.noise_shape.memory = true;
      return wider;
    case DoubtKind::persistence:
      if (shape.modes != Modes::independent) return std::nullopt;
      wider.shape.modes = Modes::persistent;
      return wider;
    default:
      return std::nullopt;
  }
}

/// The gate by one centred feature beside a constant, as features of the rows.
std::optional<Wider> gated_by(const ModeModel& model, const ModeShape& shape, const RawUnits& units,
                              const Doubt& doubt) {
  const auto& names = units.names();
  const auto feature = static_cast<std::size_t>(std::ranges::find(names, doubt.term) - names.begin());
  std::size_t constant = 0;
  while (constant < shape.feature_count && !units.is_constant(constant)) ++constant;
  if (shape.modes != Modes::independent || feature >= shape.feature_count || constant == shape.feature_count)
    return std::nullopt;
  Wider wider{shape, model, nullptr};
  wider.shape.modes = Modes::gated;
  wider.shape.gate = {constant, feature};
  const double nu = model.degrees_of_freedom;
  const auto variances = model.laws.noise_variances;
  wider.start = model_from(model.laws, wider.shape);
  wider.start.degrees_of_freedom = nu;
  wider.start.laws.noise_variances = variances;
  wider.start.memory = model.memory;
  return wider;
}

double size_of(const Doubt& doubt, const Wider& wider, const ModeModel& model, const RawUnits& units) {
  switch (doubt.kind) {
    case DoubtKind::missing_term:
    case DoubtKind::missing_term_of_one_law: {
      const double unit = wider.more->unit * units.response_scale();
      const std::size_t last = wider.shape.feature_count - 1;
      if (doubt.law) return model.laws.law(*doubt.law)[last] * unit;
      double mean = 0.0;
      for (std::size_t h = 0; h < wider.shape.component_count; ++h)
        mean += model.laws.weights[h] * model.laws.law(h)[last] * unit;
      return mean;
    }
    case DoubtKind::unequal_noise:
      return largest_ratio(model.laws.noise_variances);
    case DoubtKind::tails:
      return 1.0 / model.degrees_of_freedom;
    case DoubtKind::memory:
      return model.memory;
    case DoubtKind::persistence:
      return rows_between_changes(model);
    case DoubtKind::gate:
      return gate_range(model, 1) / units.feature_scale(wider.shape.gate[1]);
    default:
      return doubt.size;
  }
}

/// A term that only one law has, by the coefficients of a refit in which each law has its own: what the other
/// ones explain is less than BIC asks for them. The term is orthogonal to the features and of unit mean
/// square.
void tell_one_law(const ModeModel& model, std::span<const double> terms, double rows, Doubt& doubt) {
  const std::size_t k = terms.size();
  if (doubt.kind != DoubtKind::missing_term || k < 2) return;
  std::vector<double> parts(k);
  for (std::size_t h = 0; h < k; ++h)
    parts[h] = rows * model.laws.weights[h] * terms[h] * terms[h] / model.laws.noise_variances[h];
  const auto largest = std::ranges::max_element(parts);
  double others = -*largest;
  for (const double part : parts) others += part;
  if (others >= static_cast<double>(k - 1) * std::log(rows)) return;
  doubt.kind = DoubtKind::missing_term_of_one_law;
  doubt.law = static_cast<std::size_t>(largest - parts.begin());
  doubt.dof = 1;
}

}  // namespace

ModeModel with_feature(const ModeModel& model, std::span<const double> coefficients) {
  ModeModel result = model;
  result.laws.feature_count = model.laws.feature_count + 1;
  result.laws.coefficients.clear();
  for (std::size_t h = 0; h < coefficients.size(); ++h) {
    const auto law = model.laws.law(h);
    result.laws.coefficients.insert(result.laws.coefficients.end(), law.begin(), law.end());
    result.laws.coefficients.push_back(coefficients[h]);
  }
  return result;
}

double rows_between_changes(const ModeModel& model) noexcept {
  double changes = 0.0;
  for (std::size_t h = 0; h < model.transitions.rows; ++h)
    changes += model.laws.weights[h] * (1.0 - model.transitions(h, h));
  return 1.0 / std::max(changes, 1e-12);
}

double law_shift(std::span<const double> moves, std::span<const double> terms, const ModeModel& model,
                 const DenseMatrix& features) {
  const std::size_t d = features.rows;
  std::vector<double> product(d);
  double shift = 0.0;
  for (std::size_t h = 0; h < model.laws.component_count(); ++h) {
    const auto move = moves.subspan(h * d, d);
    multiply(features, move, product);
    shift = std::max(shift, std::sqrt((std::max(dot(move, product), 0.0) + terms[h] * terms[h]) /
                                      model.laws.noise_variances[h]));
  }
  return shift;
}

RefitRows::RefitRows(const HeldDesign& design, std::size_t feature_count, const Regressor* more)
    : runs(feature_count + (more != nullptr ? 1 : 0), std::max<std::size_t>(512, design.rows.size() + 256)),
      slots(slots_of(design.rows)) {
  sample.feature_count = runs.state().feature_count;
  std::vector<double> x(sample.feature_count);
  const bool in_order =
      std::ranges::any_of(design.rows, [](const PlacedRow& placed) { return placed.steps > 0; });
  for (std::size_t t = 0; t < design.rows.size(); ++t) {
    const PlacedRow& placed = design.rows[t];
    std::ranges::copy(placed.row.features, x.begin());
    if (more != nullptr) x.back() = more->values[t];
    Row row = placed.row;
    row.features = x;
    if (in_order)
      runs.add(row, {placed.slot, placed.steps});
    else
      sample.add(row);
  }
}

bool refit_spread(const ModeModel& model, const ModeShape& shape, const HeldDesign& design, Doubt& doubt) {
  const Regressor* column = regressor_named(design.spreads, doubt.term);
  if (column == nullptr || !shape.is_plain()) return false;
  const SpreadFit base = fit_spread(design.rows, column->values, model.laws, shape.noise, false);
  const SpreadFit wider = fit_spread(design.rows, column->values, base.mixture, shape.noise, true);
  const double gain = wider.log_likelihood - base.log_likelihood;
  if (!(gain > 0.0)) return false;
  ModeModel before = model, after = model;
  before.laws = base.mixture;
  after.laws = wider.mixture;
  const std::vector<double> none(shape.component_count);
  doubt.size = 0.5 * wider.slope * column->unit;
  doubt.shift = law_shift(moves_between(before, after), none, after, design.features);
  doubt.prediction = prediction_shift({before, shape}, {after, shape}, design.rows, after);
  doubt.explained = gain / design.weight;
  doubt.refitted = true;
  return true;
}

bool refit_skew(const ModeModel& model, const ModeShape& shape, const HeldDesign& design,
                const RawUnits& units, Doubt& doubt) {
  if (!shape.is_plain()) return false;
  const SpreadFit base = fit_skew(design.rows, model.laws, shape.noise, false);
  const SpreadFit wider = fit_skew(design.rows, base.mixture, shape.noise, true);
  const double gain = wider.log_likelihood - base.log_likelihood;
  if (!(gain > 0.0)) return false;
  ModeModel before = model, after = model;
  before.laws = base.mixture;
  after.laws = wider.mixture;
  for (std::size_t h = 0; h < shape.component_count; ++h) {  // from the noise's mode to its mean
    const double sd = std::sqrt(wider.mixture.noise_variances[h]);
    for (std::size_t j = 0; j < shape.feature_count; ++j) {
      if (units.is_constant(j)) after.laws.law(h)[j] += sd * two_piece(wider.slope).mean;
    }
  }
  const std::vector<double> none(shape.component_count);
  doubt.size = lean_skewness(design.rows, units, base.mixture, shape.noise, two_piece(wider.slope).skewness);
  doubt.shift = law_shift(moves_between(before, after), none, before, design.features);
  doubt.prediction = prediction_shift({before, shape}, {after, shape}, design.rows, before);
  doubt.explained = gain / design.weight;
  doubt.refitted = true;
  return true;
}

bool refit_rounding(const ModeModel& model, const ModeShape& shape, const HeldDesign& design, double step,
                    Doubt& doubt) {
  const Mixture finer = fit_intervals(design.rows, step, model.laws, shape.noise);
  if (!is_finite(finer)) return false;
  ModeModel after = model;
  after.laws = finer;
  const std::vector<double> none(shape.component_count);
  doubt.shift = law_shift(moves_between(model, after), none, after, design.features);
  doubt.prediction = prediction_shift({model, shape}, {after, shape}, design.rows, after);
  return true;
}

std::optional<Refitted> refit(const ModeModel& model, const ModeShape& shape, const HeldDesign& design,
                              const RawUnits& units, Doubt& doubt) {
  const std::optional<Wider> wider = doubt.kind == DoubtKind::gate ? gated_by(model, shape, units, doubt)
                                                                   : wider_for(model, shape, design, doubt);
  if (!wider) return std::nullopt;
  const RefitRows plain(design, shape.feature_count, nullptr);
  const SettledModel base = settle(model, shape, plain.held(), refit_steps);
  auto rows = std::make_unique<RefitRows>(design, shape.feature_count, wider->more);
  const bool from_laws = doubt.kind == DoubtKind::persistence;  // how long modes last is tried on a grid
  const ModeModel start =
      from_laws ? sticky_start(base.model.laws, wider->shape, rows->held()) : wider->start;
  SettledModel settled = settle(start, wider->shape, rows->held(), refit_steps);
  const double gain = settled.log_likelihood - base.log_likelihood;
  if (!(gain > 0.0)) return std::nullopt;
  const std::vector<double> moves = moves_between(base.model, settled.model);
  std::vector<double> terms(shape.component_count);
  for (std::size_t h = 0; h < shape.component_count && wider->more != nullptr; ++h)
    terms[h] = settled.model.laws.law(h)[shape.feature_count];
  if (wider->more != nullptr) tell_one_law(settled.model, terms, design.weight, doubt);
  doubt.size = size_of(doubt, *wider, settled.model, units);
  // The noise is what the better model calls so; of noise that remembers, that of a single row.
  const bool single = doubt.kind == DoubtKind::memory;
  const ModeModel& noise = single ? base.model : settled.model;
  doubt.shift = law_shift(moves, terms, noise, design.features);
  const auto more =
      wider->more != nullptr ? std::span<const double>(wider->more->values) : std::span<const double>();
  // Modes that last stand instead of a gate, not beside it: then only what the laws move by is compared.
  const bool gate_stays = shape.modes == Modes::gated && wider->shape.modes != Modes::gated;
  ModeModel moved = gate_stays ? base.model : settled.model;
  moved.laws.coefficients = settled.model.laws.coefficients;
  doubt.prediction = prediction_shift({base.model, shape}, {moved, gate_stays ? shape : wider->shape, more},
                                      design.rows, noise);
  doubt.explained = gain / design.weight;
  doubt.refitted = true;
  return Refitted{std::move(settled.model), wider->shape, std::move(rows),
                  wider->more != nullptr ? wider->more->name : std::string()};
}

}  // namespace mixstream
