#include "mixstream/doubts/held.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/linalg/least_squares.hpp"
#include "mixstream/linalg/products.hpp"
#include "mixstream/linalg/spectrum.hpp"

namespace mixstream {
namespace {

constexpr double least_part = 1e-10;  // of a term that features do not explain: less is rounding
constexpr std::size_t rows_between_yields = 256;

double mean_square(const std::vector<PlacedRow>& rows, const std::vector<double>& values) {
  double total = 0.0, weight = 0.0;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    total += rows[t].row.weight * values[t] * values[t];
    weight += rows[t].row.weight;
  }
  return total / weight;
}

/// Takes the weighted mean off. False for a constant.
bool centre_and_scale(const std::vector<PlacedRow>& rows, Regressor& regressor) {
  double mean = 0.0;
  for (std::size_t t = 0; t < rows.size(); ++t) mean += rows[t].row.weight * regressor.values[t];
  mean /= total_weight(rows);
  const double before = std::sqrt(mean_square(rows, regressor.values));
  for (double& value : regressor.values) value -= mean;
  const double rms = std::sqrt(mean_square(rows, regressor.values));
  if (!(rms > least_part * before) || !std::isfinite(rms)) return false;
  for (double& value : regressor.values) value /= rms;
  regressor.unit /= rms;
  return true;
}

/// Least squares on the features of the rows, factored once. Rows lie one behind the other: each term reads
/// all of them four times.
class FeatureSpace {
 public:
  FeatureSpace(const std::vector<PlacedRow>& rows, std::size_t d)
      : rows_(rows), d_(d), weight_(total_weight(rows)) {
    features_.reserve(rows.size() * d);
    weighted_.reserve(rows.size() * d);
    for (const PlacedRow& placed : rows) {
      for (std::size_t j = 0; j < d; ++j) {
        features_.push_back(placed.row.features[j]);
        weighted_.push_back(placed.row.weight * placed.row.features[j]);
      }
    }
    reshape(second, d, d);
    for (std::size_t t = 0; t < rows.size(); ++t) {
      if (t % rows_between_yields == 0) yield_point();
      const Row& row = rows[t].row;
      for (std::size_t i = 0; i < d; ++i) {
        for (std::size_t j = 0; j <= i; ++j) second(i, j) += row.weight * row.features[i] * row.features[j];
      }
    }
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j <= i; ++j) second(i, j) = second(j, i) = second(i, j) / weight_;
    }
    sound_ = eigen_.decompose(second, rank_cutoff);
  }

  /// Takes the part off that features explain, twice for the digits. False where nothing is left.
  bool project(Regressor& regressor) const {
    const double before = std::sqrt(mean_square(rows_, regressor.values));
    std::vector<double> cross(d_), solution(d_), scratch;
    for (int pass = 0; pass < 2 && sound_; ++pass) {
      std::ranges::fill(cross, 0.0);
      const double* weighted = weighted_.data();
      for (const double value : regressor.values) {
        for (std::size_t j = 0; j < d_; ++j) cross[j] += weighted[j] * value;
        weighted += d_;
      }
      for (double& value : cross) value /= weight_;
      eigen_.solve(cross, solution, scratch);
      const double* features = features_.data();
      for (double& value : regressor.values) {
        double explained = 0.0;
        for (std::size_t j = 0; j < d_; ++j) explained += solution[j] * features[j];
        value -= explained;
        features += d_;
      }
    }
    const double rms = std::sqrt(mean_square(rows_, regressor.values));
    if (!sound_ || !(rms > least_part * before) || !std::isfinite(rms)) return false;
    for (double& value : regressor.values) value /= rms;
    regressor.unit /= rms;
    return true;
  }

  DenseMatrix second;

 private:
  const std::vector<PlacedRow>& rows_;
  std::size_t d_;
  double weight_;
  std::vector<double> features_, weighted_;  // d a row
  ScaledEigen eigen_;
  bool sound_ = false;
};

/// Takes the part off that lower terms explain: u^3 is what u^2 does not say. False where nothing is left.
bool take_off(const std::vector<PlacedRow>& rows, const std::vector<const Regressor*>& lower,
              Regressor& regressor) {
  const std::size_t count = lower.size();
  if (count == 0) return true;
  DenseMatrix second{count, count, std::vector<double>(count * count)};
  std::vector<double> solution(count), cross(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t t = 0; t < rows.size(); ++t) {
      cross[i] += rows[t].row.weight * lower[i]->values[t] * regressor.values[t];
      for (std::size_t j = 0; j <= i; ++j)
        second(i, j) += rows[t].row.weight * lower[i]->values[t] * lower[j]->values[t];
    }
    for (std::size_t j = 0; j <= i; ++j) second(j, i) = second(i, j);
  }
  if (!least_squares(second, cross, solution)) return false;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    for (std::size_t i = 0; i < count; ++i) regressor.values[t] -= solution[i] * lower[i]->values[t];
  }
  const double rms = std::sqrt(mean_square(rows, regressor.values));
  if (!(rms > 1e-5)) return false;  // of one: it was brought to unit mean square before
  for (double& value : regressor.values) value /= rms;
  regressor.unit /= rms;
  return true;
}

/// The first d features of each row, one row behind the other.
std::vector<double> raw_features(const std::vector<PlacedRow>& rows, const RawUnits& units, std::size_t d) {
  std::vector<double> raw;
  raw.reserve(rows.size() * d);
  for (const PlacedRow& placed : rows) {
    for (std::size_t j = 0; j < d; ++j) raw.push_back(units.feature(j, placed.row.features[j]));
  }
  return raw;
}

Regressor feature_column(const std::vector<PlacedRow>& rows, const RawUnits& units, std::size_t j) {
  Regressor result{units.names()[j], {}, units.feature_scale(j)};
  for (const PlacedRow& placed : rows) result.values.push_back(placed.row.features[j]);
  result.unit = 1.0 / units.feature_scale(j);
  return result;
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
  const auto before = [](const PlacedRow* one, const PlacedRow* other) {
    if (one->row.response != other->row.response) return one->row.response < other->row.response;
    return std::ranges::lexicographical_compare(one->row.features, other->row.features);
  };
  const auto sorted = [&](const std::vector<PlacedRow>& rows) {
    std::vector<const PlacedRow*> result;
    for (const PlacedRow& placed : rows) result.push_back(&placed);
    std::ranges::stable_sort(result, before);
    return result;
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
      rows.push_back({in_runs[i]->row, 0, 0});
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
  const std::vector<double> raw = raw_features(design.rows, units, terms.empty() ? 0 : d);
  std::vector<std::size_t> kept;  // where a term stands in the design; terms.size(): nowhere
  design.terms.reserve(terms.size());
  for (const Term& term : terms) {
    yield_point();
    Regressor regressor{term.name, {}, 1.0};
    regressor.values.reserve(design.rows.size());
    for (std::size_t t = 0; t < design.rows.size(); ++t)
      regressor.values.push_back(term.value(std::span(raw).subspan(t * d, d)));
    std::vector<const Regressor*> below;
    for (const std::size_t lower : term.below) {
      if (kept[lower] < design.terms.size()) below.push_back(&design.terms[kept[lower]]);
    }
    const bool is_new = space.project(regressor) && take_off(design.rows, below, regressor);
    kept.push_back(is_new ? design.terms.size() : terms.size());
    if (is_new) design.terms.push_back(std::move(regressor));
  }
  for (std::size_t j = 0; j < d; ++j) {
    if (units.is_constant(j) || std::ranges::find(shape.gate, j) != shape.gate.end()) continue;
    Regressor gate = feature_column(design.rows, units, j);
    if (centre_and_scale(design.rows, gate)) design.gates.push_back(std::move(gate));
  }
  for (const std::size_t j : column_features(units.names())) {
    Regressor column = feature_column(design.rows, units, j);
    Regressor square = column;
    if (!centre_and_scale(design.rows, column)) continue;
    for (std::size_t t = 0; t < design.rows.size(); ++t)
      square.values[t] = column.values[t] * column.values[t];
    square.name += "^2";
    square.unit = column.unit * column.unit;
    design.spreads.push_back(std::move(column));
    if (centre_and_scale(design.rows, square)) design.spreads.push_back(std::move(square));
  }
  design.features = space.second;
  return design;
}

}  // namespace mixstream
