#include "measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "mixstream/estimator.hpp"
#include "mixstream/modes/tracker.hpp"
#include "mixstream/rows/feature_map.hpp"

namespace sensor {
namespace {

using namespace mixstream;

class Watch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

double square_distance(const double* one, const double* two, std::size_t count) {
  double total = 0.0;
  for (std::size_t c = 0; c < count; ++c) total += (one[c] - two[c]) * (one[c] - two[c]);
  return total;
}

/// order[h]: the found law that is true law h, by the nearest of all permutations.
std::vector<std::size_t> matched(const std::vector<double>& truth, const std::vector<double>& found,
                                 std::size_t k) {
  const std::size_t d = truth.size() / k;
  std::vector<std::size_t> order(k);
  std::iota(order.begin(), order.end(), 0U);
  std::vector<std::size_t> best = order;
  double nearest = INFINITY;
  do {
    double total = 0.0;
    for (std::size_t h = 0; h < k; ++h) total += square_distance(&truth[h * d], &found[order[h] * d], d);
    if (total < nearest) nearest = total, best = order;
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

double error_of(const std::vector<double>& truth, const std::vector<double>& found, std::size_t k) {
  const std::size_t d = truth.size() / k;
  const std::vector<std::size_t> order = matched(truth, found, k);
  double total = 0.0;
  for (std::size_t h = 0; h < k; ++h) total += square_distance(&truth[h * d], &found[order[h] * d], d);
  return std::sqrt(total);
}

yardstick::Model model_of(const Kind& kind, const Stream& stream, bool chain) {
  yardstick::Model model;
  model.laws = kind.laws;
  model.features = stream.rows.features;
  model.chain = chain;
  model.memory = chain && kind.memory != 0.0;
  return model;
}

Estimator estimator_for(const Kind& kind, std::uint64_t seed, Modes modes) {
  const FeatureMap map = FeatureMap::parse(kind.map).value();
  EstimatorSettings settings;
  settings.state.layout = {static_cast<int>(map.feature_count()), map.constant_feature()};
  settings.state.seed = seed;
  settings.solve.component_count = kind.laws;
  settings.solve.seed = seed;
  settings.solve.feature_names = map.names();
  settings.solve.modes = modes;
  settings.solve.noise_shape.memory = modes == Modes::persistent && kind.memory != 0.0;
  Outcome<Estimator> estimator = Estimator::create(settings);
  if (!estimator) throw std::runtime_error(estimator.refusal().text);
  return std::move(estimator).value();
}

Report passed(const Kind& kind, const Stream& stream, std::uint64_t seed, Modes modes) {
  Estimator estimator = estimator_for(kind, seed, modes);
  const std::size_t d = stream.rows.features;
  for (std::size_t t = 0; t < stream.rows.count(); ++t) {
    estimator.absorb({{&stream.rows.x[t * d], d}, stream.rows.y[t]});
    if (estimator.fit_is_due()) estimator.scheduled_fit();
  }
  return estimator.fit();
}

std::vector<double> coefficients_of(const Report& report) {
  std::vector<double> all;
  for (const ComponentReport& component : report.components)
    all.insert(all.end(), component.coefficients.begin(), component.coefficients.end());
  return all;
}

void add_component_z(Cell& cell, const Report& report, const Stream& stream,
                     const std::vector<std::size_t>& order) {
  const std::size_t d = stream.rows.features;
  std::vector<double>& coefficients = cell["coefficient_z"];
  std::vector<double>& weights = cell["weight_z"];
  for (std::size_t h = 0; h < order.size(); ++h) {
    const ComponentReport& found = report.components[order[h]];
    for (std::size_t c = 0; c < found.coefficient_errors.size(); ++c)
      coefficients.push_back((found.coefficients[c] - stream.truth.coefficients[h * d + c]) /
                             found.coefficient_errors[c]);
    if (found.weight_error) weights.push_back((found.weight - stream.truth.weights[h]) / *found.weight_error);
  }
}

void add_modes(Cell& cell, const Report& report, const Stream& stream,
               const std::vector<std::size_t>& order) {
  if (!report.modes || report.modes->kind != Modes::persistent) return;
  const ModesReport& modes = *report.modes;
  const std::size_t k = order.size();
  for (std::size_t i = 0; i < k; ++i) {
    cell["dwells"].push_back(modes.dwells[order[i]]);
    for (std::size_t j = 0; j < k; ++j)
      cell["transition_z"].push_back((modes.transitions(order[i], order[j]) - stream.transitions[i * k + j]) /
                                     modes.transition_errors(order[i], order[j]));
  }
  cell["changes"] = {modes.changes};
}

/// Share of rows whose likeliest law is not the one that made them.
double share_wrong(const yardstick::Model& model, const yardstick::Laws& laws, const Stream& stream,
                   const std::vector<std::size_t>& order) {
  const std::vector<double> probabilities = yardstick::filtered(model, laws, stream.rows);
  const std::size_t k = model.laws;
  double wrong = 0.0;
  for (std::size_t t = 0; t < stream.made_by.size(); ++t) {
    const double* row = &probabilities[t * k];
    const auto likeliest = static_cast<std::size_t>(std::max_element(row, row + k) - row);
    wrong += likeliest == order[stream.made_by[t]] ? 0.0 : 1.0;
  }
  return wrong / static_cast<double>(stream.made_by.size());
}

/// The fit as the model that the library's filter follows: as persistent modes, or each row by itself.
ModeModel model_of_fit(const Report& report, const ModeShape& shape) {
  const std::size_t k = shape.component_count;
  Mixture laws = empty_mixture(k, shape.feature_count);
  laws.coefficients = coefficients_of(report);
  for (std::size_t h = 0; h < k; ++h) {
    laws.weights[h] = report.components[h].weight;
    laws.noise_variances[h] = report.components[h].noise_variance;
  }
  ModeModel model = model_from(laws, shape);
  if (shape.modes == Modes::persistent) model.transitions = report.modes->transitions;
  return model;
}

double share_wrong_by_library(const Report& report, Modes modes, const Stream& stream,
                              const std::vector<std::size_t>& order) {
  const std::size_t d = stream.rows.features;
  const ModeShape shape{report.components.size(), d, modes, {}, NoiseModel::per_component, {}};
  ModeTracker tracker(shape, model_of_fit(report, shape));
  double wrong = 0.0;
  for (std::size_t t = 0; t < stream.made_by.size(); ++t) {
    tracker.follow({{&stream.rows.x[t * d], d}, stream.rows.y[t]}, t == 0 ? 0U : 1U);
    wrong += tracker.likeliest() == order[stream.made_by[t]] ? 0.0 : 1.0;
  }
  return wrong / static_cast<double>(stream.made_by.size());
}

}  // namespace

Cell measured_by_yardstick(const Kind& kind, std::uint64_t seed) {
  const Watch watch;
  const Stream stream = drawn(kind, seed);
  Cell cell;
  for (const bool chain : {true, false}) {
    const yardstick::Model model = model_of(kind, stream, chain);
    const yardstick::Fit fit = yardstick::fit(model, true_laws(kind, stream, chain), stream.rows);
    const std::string name = chain ? "chain" : "chance";
    cell[name] = {error_of(stream.truth.coefficients, fit.laws.coefficients, kind.laws)};
    cell[name + "_decrement"] = {fit.decrement};
    cell[name + "_passes"] = {static_cast<double>(fit.passes)};
    if (!chain) continue;
    for (std::size_t q = 0; q < model.choice_begin(); ++q)
      cell["chain_z"].push_back((fit.theta[q] - stream.truth.coefficients[q]) /
                                std::sqrt(fit.covariance[q * model.size() + q]));
    const yardstick::Weights weights = yardstick::weights_of(model, fit);
    for (std::size_t h = 0; h < kind.laws; ++h)
      cell["chain_weight_z"].push_back((weights.values[h] - stream.truth.weights[h]) / weights.errors[h]);
  }
  cell["seconds"] = {watch.seconds()};
  return cell;
}

Cell measured_by_library(const Kind& kind, std::uint64_t seed, Modes modes) {
  const Stream stream = drawn(kind, seed);
  const Watch watch;
  const Report report = passed(kind, stream, seed, modes);
  Cell cell;
  cell["seconds"] = {watch.seconds()};
  cell["ok"] = {report.status == FitStatus::ok ? 1.0 : 0.0};
  for (const DriftEvent& event : report.drift) cell["drift"].push_back(static_cast<double>(event.row));
  cell["drift"];
  if (report.components.size() != kind.laws) return cell;
  const std::vector<double> found = coefficients_of(report);
  const std::vector<std::size_t> order = matched(stream.truth.coefficients, found, kind.laws);
  cell["error"] = {error_of(stream.truth.coefficients, found, kind.laws)};
  cell["polished"] = {report.stage == FitStage::polished ? 1.0 : 0.0};
  cell["few_words"] = {report.words.find("few changes") != std::string::npos ? 1.0 : 0.0};
  if (report.noise_memory) cell["rho"] = {*report.noise_memory};
  add_component_z(cell, report, stream, order);
  add_modes(cell, report, stream, order);
  return cell;
}

Cell measured_labels(const Kind& kind, std::uint64_t seed, Modes modes) {
  const Stream stream = drawn(kind, seed);
  const Report report = passed(kind, stream, seed, modes);
  Cell cell;
  std::vector<std::size_t> order(kind.laws);
  std::iota(order.begin(), order.end(), 0U);
  for (const bool chain : {true, false})
    cell[chain ? "true_filtered" : "true_row_by_row"] = {
        share_wrong(model_of(kind, stream, chain), true_laws(kind, stream, chain), stream, order)};
  if (report.components.size() != kind.laws) return cell;
  order = matched(stream.truth.coefficients, coefficients_of(report), kind.laws);
  cell["row_by_row"] = {share_wrong_by_library(report, Modes::independent, stream, order)};
  if (!report.modes || report.modes->kind != Modes::persistent) return cell;
  cell["filtered"] = {share_wrong_by_library(report, Modes::persistent, stream, order)};
  return cell;
}

}  // namespace sensor
