#include "mixstream/rows/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>
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

/// The nearest multiple of `step`, written as shortly as decimal steps can be; the value itself at step 0.
double rounded(double value, double step) noexcept {
  if (step <= 0.0) return value;
  const double steps = std::round(value / step);
  const double per_unit = std::round(1.0 / step);
  return std::abs(per_unit * step - 1.0) < 1e-14 ? steps / per_unit : steps * step;
}

}  // namespace

double stay_by_chance(const std::vector<double>& weights) noexcept {
  return std::inner_product(weights.begin(), weights.end(), weights.begin(), 0.0);
}

Simulation::Simulation(SimulationSettings settings)
    : settings_(std::move(settings)),
      random_(settings_.seed),
      truth_(draw_truth(settings_, random_)),
      columns_(settings_.map.columns().size()),
      features_(settings_.map.feature_count()),
      chains_(std::max<std::size_t>(settings_.sensors, 1)) {
  check_order();
  if (settings_.wander != 0.0)
    for (Chain& chain : chains_) chain.wandering.resize(columns_.size());
  if (settings_.gate) begin_gate();
}

void Simulation::check_order() const {
  const auto require = [](bool holds, const char* words) {
    if (!holds) throw std::invalid_argument(words);
  };
  require(!settings_.stay || !settings_.gate, "a law is chosen by a chain or by a gate, not by both");
  require(!settings_.stay ||
              (*settings_.stay >= stay_by_chance(truth_.weights) - 1e-12 && *settings_.stay <= 1.0),
          "a law stays at least as often as by chance, and at most always");
  require(std::abs(settings_.wander) < 1.0, "columns wander with a coefficient between -1 and 1");
  require(std::abs(settings_.noise_memory) < 1.0, "noise remembers with a coefficient between -1 and 1");
  require(settings_.tails == 0.0 || settings_.tails > 2.0,
          "noise with tails has more than 2 degrees of freedom");
  require(settings_.round_to >= 0.0, "responses are rounded to multiples of a positive number");
}

void Simulation::begin_gate() {
  const std::size_t k = truth_.component_count();
  const std::size_t width = settings_.gate->feature_count();
  if (settings_.gate->columns() != settings_.map.columns())
    throw std::invalid_argument("a gate sees the columns of the map");
  if (settings_.gate_coefficients.empty()) {
    settings_.gate_coefficients.resize((k - 1) * width);
    for (double& coefficient : settings_.gate_coefficients) coefficient = 3.0 * random_.normal();
  }
  if (settings_.gate_coefficients.size() != (k - 1) * width)
    throw std::invalid_argument("a gate needs (k - 1) x w coefficients");
  gate_features_.resize(width);
  gate_weights_.resize(k);
  const Random random = random_;  // the stream's own draws begin after the truth
  std::ranges::fill(truth_.weights, 0.0);
  constexpr int rows = 10000;
  for (int i = 0; i < rows; ++i) {
    for (double& column : columns_) column = draw_column();
    open_gate();
    for (std::size_t h = 0; h < k; ++h) truth_.weights[h] += gate_weights_[h] / rows;
  }
  random_ = random;
}

double Simulation::column_at(double quantile) const noexcept {
  if (!settings_.cut) return 2.0 * quantile - 1.0;
  const double u = 1.5 * quantile;  // the three intervals that the cut leaves, end to end
  return u < 0.5 ? u - 1.0 : (u < 1.0 ? u - 0.75 : u - 0.5);
}

double Simulation::draw_column() noexcept {
  if (settings_.normal_columns) return random_.normal();
  return column_at(random_.uniform());
}

// A wandering column is a Gaussian AR(1), carried to the distribution that the column has without wandering.
void Simulation::draw_columns(Chain& chain) noexcept {
  const double wander = settings_.wander;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (wander == 0.0) {
      columns_[i] = draw_column();
      continue;
    }
    double& z = chain.wandering[i];
    z = chain.begun ? wander * z + std::sqrt(1.0 - wander * wander) * random_.normal() : random_.normal();
    columns_[i] = settings_.normal_columns ? z : column_at(0.5 * std::erfc(-z / std::numbers::sqrt2));
  }
}

std::size_t Simulation::draw_by(std::span<const double> weights, double left) const noexcept {
  std::size_t component = 0;
  while (component + 1 < weights.size() && left >= weights[component]) left -= weights[component++];
  return component;
}

// A = s I + (1 - s) 1 pi' with the s that makes sum_h pi_h A_hh = stay.
double Simulation::memory_of_modes() const noexcept {
  const double chance = stay_by_chance(truth_.weights);
  return settings_.stay && chance < 1.0 ? std::clamp((*settings_.stay - chance) / (1.0 - chance), 0.0, 1.0)
                                        : 0.0;
}

std::size_t Simulation::draw_component(const Chain& chain) noexcept {
  const double u = random_.uniform();
  if (settings_.gate) {
    open_gate();
    return draw_by(gate_weights_, u);
  }
  if (!settings_.stay || !chain.begun) return draw_by(truth_.weights, u);
  const double memory = memory_of_modes();
  return u < memory ? chain.component : draw_by(truth_.weights, (u - memory) / (1.0 - memory));
}

void Simulation::open_gate() noexcept {
  settings_.gate->evaluate(columns_, gate_features_);
  const std::size_t width = gate_features_.size();
  for (std::size_t h = 0; h < gate_weights_.size(); ++h) {
    const auto gamma = settings_.gate_coefficients.begin() + static_cast<std::ptrdiff_t>(h * width);
    gate_weights_[h] = h + 1 == gate_weights_.size()
                           ? 0.0
                           : std::inner_product(gate_features_.begin(), gate_features_.end(), gamma, 0.0);
  }
  const double top = *std::ranges::max_element(gate_weights_);
  double total = 0.0;
  for (double& weight : gate_weights_) total += weight = std::exp(weight - top);
  for (double& weight : gate_weights_) weight /= total;
}

// Student t by Bailey's polar method, scaled to variance one.
double Simulation::draw_innovation() noexcept {
  const double nu = settings_.tails;
  if (nu == 0.0) return random_.normal();
  const double radius = std::sqrt(nu * (std::pow(1.0 - random_.uniform(), -2.0 / nu) - 1.0));
  return std::sqrt((nu - 2.0) / nu) * radius * std::cos(2.0 * std::numbers::pi * random_.uniform());
}

double Simulation::draw_noise(const Chain& chain) noexcept {
  const double fresh = std::sqrt(truth_.noise_variances[component_]) * draw_innovation();
  const double rho = settings_.noise_memory;
  return rho == 0.0 || !chain.begun ? fresh : rho * chain.noise + std::sqrt(1.0 - rho * rho) * fresh;
}

std::vector<double> Simulation::transitions() const {
  const std::size_t k = truth_.component_count();
  const double memory = memory_of_modes();
  std::vector<double> matrix(k * k);
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < k; ++j)
      matrix[i * k + j] = (i == j ? memory : 0.0) + (1.0 - memory) * truth_.weights[j];
  return matrix;
}

Row Simulation::next() noexcept {
  Chain& chain = chains_[turn_];
  draw_columns(chain);
  settings_.map.evaluate(columns_, features_);
  component_ = draw_component(chain);
  const double mean =
      std::inner_product(features_.begin(), features_.end(), truth_.law(component_).begin(), 0.0);
  chain.noise = draw_noise(chain);
  chain.component = component_;
  chain.begun = true;
  const double response = rounded(mean + chain.noise, settings_.round_to);
  const std::uint64_t sensor = chains_.size() > 1 ? turn_ + 1 : 0;
  turn_ = (turn_ + 1) % chains_.size();
  return {.features = features_, .response = response, .weight = 1.0, .time = 0.0, .sensor = sensor};
}

RowTable Simulation::table(std::size_t rows) {
  RowTable table{features_.size(), {}, {}, {}};
  table.reserve(rows);
  for (std::size_t i = 0; i < rows; ++i) table.add(next());
  return table;
}

}  // namespace mixstream
