#include "mixstream/rows/simulation.hpp"

#include <numeric>
#include <stdexcept>
#include <utility>

namespace mixstream {
namespace {

Mixture draw_truth(const SimulationSettings& settings, Random& random) {
  const std::size_t k = settings.component_count;
  const std::size_t d = settings.map.feature_count();
  Mixture truth = empty_mixture(k, d);
  truth.weights =
      settings.weights.empty() ? std::vector<double>(k, 1.0 / static_cast<double>(k)) : settings.weights;
  truth.noise_variances = settings.noise_variances.size() == 1
                              ? std::vector<double>(k, settings.noise_variances[0])
                              : settings.noise_variances;
  if (settings.coefficients)
    truth.coefficients = *settings.coefficients;
  else
    for (double& coefficient : truth.coefficients) coefficient = random.normal();
  if (truth.weights.size() != k || truth.noise_variances.size() != k || truth.coefficients.size() != k * d) {
    throw std::invalid_argument("a simulation needs k weights, k noise variances and k x d coefficients");
  }
  return truth;
}

}  // namespace

Simulation::Simulation(SimulationSettings settings)
    : settings_(std::move(settings)),
      random_(settings_.seed),
      truth_(draw_truth(settings_, random_)),
      columns_(settings_.map.columns().size()),
      features_(settings_.map.feature_count()) {}

double Simulation::draw_column() noexcept {
  if (settings_.normal_columns) return random_.normal();
  if (!settings_.cut) return random_.uniform(-1.0, 1.0);
  const double u = random_.uniform(0.0, 1.5);  // the three intervals that the cut leaves, end to end
  return u < 0.5 ? u - 1.0 : (u < 1.0 ? u - 0.75 : u - 0.5);
}

Row Simulation::next() noexcept {
  for (double& column : columns_) column = draw_column();
  settings_.map.evaluate(columns_, features_);
  double left = random_.uniform();
  component_ = 0;
  while (component_ + 1 < truth_.component_count() && left >= truth_.weights[component_]) {
    left -= truth_.weights[component_++];
  }
  const double mean =
      std::inner_product(features_.begin(), features_.end(), truth_.law(component_).begin(), 0.0);
  return {features_, mean + std::sqrt(truth_.noise_variances[component_]) * random_.normal()};
}

RowTable Simulation::table(std::size_t rows) {
  RowTable table{features_.size(), {}, {}, {}};
  table.reserve(rows);
  for (std::size_t i = 0; i < rows; ++i) table.add(next());
  return table;
}

}  // namespace mixstream
