#include "mixstream/doubts/held.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/linalg/least_squares.hpp"
#include "mixstream/linalg/products.hpp"
#include "mixstream/linalg/spectrum.hpp"

namespace mixstream {
namespace {

constexpr double least_part = 1e-10;  // of a term that features do not explain: less is rounding

/// Numbers of held rows, one column behind the other, and what features say of a further one. Each term reads
/// all of them four times.
class FeatureSpace {
 public:
  FeatureSpace(const std::vector<PlacedRow>& rows, std::size_t d) : weight_(total_weight(rows)) {
    reshape(features_, d, rows.size());
    reshape(weighted_, d, rows.size());
    for (std::size_t t = 0; t < rows.size(); ++t) {
      weights_.push_back(rows[t].row.weight);
      for (std::size_t j = 0; j < d; ++j) {
        features_(j, t) = rows[t].row.features[j];
        weighted_(j, t) = rows[t].row.weight * rows[t].row.features[j];
      }
    }
    reshape(second, d, d);
    for (std::size_t j = 0; j < d; ++j) {
      yield_point();
      multiply(weighted_, feature(j), std::span(second.values).subspan(j * d, d));
    }
    for (double& value : second.values) value /= weight_;
    sound_ = eigen_.decompose(second, rank_cutoff);
  }

  std::span<const double> feature(std::size_t j) const noexcept {
    return std::span(features_.values).subspan(j * features_.columns, features_.columns);
  }

  /// Takes the weighted mean off. False for a constant.
  bool centre_and_scale(Regressor& regressor) const {
    double mean = 0.0;
    for (std::size_t t = 0; t < weights_.size(); ++t) mean += weights_[t] * regressor.values[t];
    mean /= weight_;
    const double before = rms(regressor.values);
    for (double& value : regressor.values) value -= mean;
    return scale(regressor, least_part * before);
  }

  /// Takes the part off that features explain, twice for the digits. False where nothing is left.
  bool project(Regressor& regressor) const {
    const double before = rms(regressor.values);
    std::vector<double> cross(features_.rows), solution(features_.rows), explained(weights_.size()), scratch;
    for (int pass = 0; pass < 2 && sound_; ++pass) {
      multiply(weighted_, regressor.values, cross);
      for (double& value : cross) value /= weight_;
      eigen_.solve(cross, solution, scratch);
      multiply_transposed(features_, solution, explained);
      for (std::size_t t = 0; t < explained.size(); ++t) regressor.values[t] -= explained[t];
    }
    return sound_ && scale(regressor, least_part * before);
  }

  /// Takes the part off that lower terms explain: u^3 is what u^2 does not say. False where nothing is left.
  bool take_off(const std::vector<const Regressor*>& lower, Regressor& regressor) const {
    const std::size_t count = lower.size();
    if (count == 0) return true;
    DenseMatrix between{count, count, std::vector<double>(count * count)};
    std::vector<double> solution(count), cross(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::vector<double> own = weighed(lower[i]->values);
      cross[i] = long_dot(own, regressor.values);
      for (std::size_t j = 0; j <= i; ++j) between(i, j) = between(j, i) = long_dot(own, lower[j]->values);
    }
    if (!least_squares(between, cross, solution)) return false;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t t = 0; t < weights_.size(); ++t)
        regressor.values[t] -= solution[i] * lower[i]->values[t];
    }
    return scale(regressor, 1e-5);  // of one: it was brought to unit mean square before
  }

  DenseMatrix second;  ///< mean of x x'

 private:
  std::vector<double> weighed(std::span<const double> values) const {
    std::vector<double> result(weights_.size());
    for (std::size_t t = 0; t < result.size(); ++t) result[t] = weights_[t] * values[t];
    return result;
  }
  double rms(std::span<const double> values) const {
    return std::sqrt(long_dot(weighed(values), values) / weight_);
  }
  /// To unit mean square. False where no more than `least` is left of it.
  bool scale(Regressor& regressor, double least) const {
    const double size = rms(regressor.values);
    if (!(size > least) || !std::isfinite(size)) return false;
    for (double& value : regressor.values) value *= 1.0 / size;
    regressor.unit /= size;
    return true;
  }

  double weight_;
  std::vector<double> weights_;
  DenseMatrix features_, weighted_;  // a feature a row
  ScaledEigen eigen_;
  bool sound_ = false;
};

/// A product of raw features, for every row.
Regressor product_of(const Term& term, const FeatureSpace& space, const RawUnits& units, std::size_t rows) {
  Regressor product{term.name, std::vector<double>(rows, 1.0), 1.0};
  for (const std::size_t j : term.factors) {
    const double shift = units.feature(j, 0.0), scale = units.feature_scale(j);
    const std::span<const double> values = space.feature(j);
    for (std::size_t t = 0; t < rows; ++t) product.values[t] *= shift + scale * values[t];
  }
  return product;
}

Regressor feature_column(const FeatureSpace& space, const RawUnits& units, std::size_t j) {
  const std::span<const double> values = space.feature(j);
  return {units.names()[j], {values.begin(), values.end()}, 1.0 / units.feature_scale(j)};
}

}  // namespace

double total_weight(const std::vector<PlacedRow>& rows) noexcept {
  double total = 0.0;
  for (const PlacedRow& placed : rows) total += placed.row.weight;
  return total;
}

double equal_rows(const std::vector<PlacedRow>& rows) noexcept {
  double squares = 0.0;
  for (const PlacedRow& placed : rows) squares += placed.row.weight * placed.row.weight;
  const double total = total_weight(rows);
  return squares > 0.0 ? total / squares * total : 0.0;
}

void count_for(std::vector<PlacedRow>& rows, double count) noexcept {
  const double total = total_weight(rows);
  if (!(total > 0.0)) return;
  for (PlacedRow& placed : rows) placed.row.weight *= count / total;
}

std::vector<PlacedRow> placed_sample(const RowTable& sample) {
  std::vector<PlacedRow> rows;
  rows.reserve(sample.size());
  for (std::size_t i = 0; i < sample.size(); ++i) {
    if (sample.weights[i] > 0.0) rows.push_back({sample.row(i), 0, 0});
  }
  return rows;
}

std::vector<PlacedRow> placed_runs(const Runs& runs) {
  std::vector<PlacedRow> rows;
  rows.reserve(runs.size());
  std::vector<bool> seen(runs.slots() + 1);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunRow run = runs.row(i, seen);
    rows.push_back({run.row, run.slot, run.steps});
  }
  return rows;
}

std::vector<PlacedRow> single_rows(const std::vector<PlacedRow>& sample, const std::vector<PlacedRow>& runs,
                                   double all) {
  struct Key {
    double response;
    const PlacedRow* placed;
  };
  const auto before = [](const Key& one, const Key& other) {
    if (one.response != other.response) return one.response < other.response;
    return std::ranges::lexicographical_compare(one.placed->row.features, other.placed->row.features);
  };
  const auto sorted = [&](const std::vector<PlacedRow>& rows) {
    std::vector<Key> keys;
    for (const PlacedRow& placed : rows) keys.push_back({placed.row.response, &placed});
    std::ranges::stable_sort(keys, before);
    return keys;
  };
  const auto in_sample = sorted(sample);
  const auto in_runs = sorted(runs);
  std::vector<PlacedRow> rows = sample;
  std::size_t twice = 0;
  for (std::size_t i = 0, j = 0; i < in_runs.size(); ++i) {
    while (j < in_sample.size() && before(in_sample[j], in_runs[i])) ++j;
    if (j < in_sample.size() && !before(in_runs[i], in_sample[j])) {
      ++twice;
      ++j;
    } else {
      rows.push_back({in_runs[i].placed->row, 0, 0});
    }
  }
  const double expected =
      static_cast<double>(sample.size()) * static_cast<double>(runs.size()) / std::max(all, 1.0);
  const bool told_apart = static_cast<double>(twice) <= expected + 5.0 * std::sqrt(expected) + 5.0;
  return told_apart ? rows : sample;
}

std::size_t slots_of(const std::vector<PlacedRow>& rows) noexcept {
  std::size_t slots = 1;
  for (const PlacedRow& placed : rows) slots = std::max(slots, placed.slot + 1);
  return slots;
}

RawUnits::RawUnits(const DoubtRows& rows, std::size_t feature_count)
    : shift_(feature_count), scale_(feature_count, 1.0), names_(rows.features) {
  for (std::size_t j = names_.size(); j < feature_count; ++j) names_.push_back("x" + std::to_string(j));
  if (rows.layout == nullptr) return;
  if (static_cast<std::size_t>(rows.layout->feature_count) != feature_count)
    throw std::invalid_argument("the rows have another number of features than the model");
  constant_ = rows.layout->constant_feature;
  if (rows.pilot == nullptr) return;
  for (std::size_t j = 0; j < feature_count; ++j) {
    const auto variable = static_cast<std::size_t>(rows.layout->variable_of(static_cast<int>(j)));
    shift_[j] = rows.pilot->shift[variable];
    scale_[j] = rows.pilot->scale[variable];
  }
  const auto response = static_cast<std::size_t>(rows.layout->response());
  response_shift_ = rows.pilot->shift[response];
  response_scale_ = rows.pilot->scale[response];
}

RawUnits RawUnits::with(const std::string& name) const {
  RawUnits wider = *this;
  wider.names_.push_back(name);
  wider.shift_.push_back(0.0);
  wider.scale_.push_back(1.0);
  return wider;
}

HeldDesign design_of(std::vector<PlacedRow> placed, const RawUnits& units, const std::vector<Term>& terms,
                     const ModeShape& shape) {
  const std::size_t d = shape.feature_count;
  HeldDesign design;
  design.rows = std::move(placed);
  design.weight = total_weight(design.rows);
  const FeatureSpace space(design.rows, d);
  std::vector<std::size_t> kept;  // where a term stands in the design; terms.size(): nowhere
  design.terms.reserve(terms.size());
  for (const Term& term : terms) {
    yield_point();
    Regressor regressor = product_of(term, space, units, design.rows.size());
    std::vector<const Regressor*> below;
    for (const std::size_t lower : term.below) {
      if (kept[lower] < design.terms.size()) below.push_back(&design.terms[kept[lower]]);
    }
    const bool is_new = space.project(regressor) && space.take_off(below, regressor);
    kept.push_back(is_new ? design.terms.size() : terms.size());
    if (is_new) design.terms.push_back(std::move(regressor));
  }
  for (std::size_t j = 0; j < d; ++j) {
    if (units.is_constant(j) || std::ranges::find(shape.gate, j) != shape.gate.end()) continue;
    Regressor gate = feature_column(space, units, j);
    if (space.centre_and_scale(gate)) design.gates.push_back(std::move(gate));
  }
  for (const std::size_t j : column_features(units.names())) {
    Regressor column = feature_column(space, units, j);
    Regressor square = column;
    if (!space.centre_and_scale(column)) continue;
    for (std::size_t t = 0; t < design.rows.size(); ++t)
      square.values[t] = column.values[t] * column.values[t];
    square.name += "^2";
    square.unit = column.unit * column.unit;
    design.spreads.push_back(std::move(column));
    if (space.centre_and_scale(square)) design.spreads.push_back(std::move(square));
  }
  design.features = space.second;
  return design;
}

}  // namespace mixstream
