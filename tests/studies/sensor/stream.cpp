#include "stream.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "mixstream/rows/simulation.hpp"

namespace sensor {
namespace {

using mixstream::Mixture;
using mixstream::Simulation;
using mixstream::SimulationSettings;

SimulationSettings settings_of(const Kind& kind, std::uint64_t seed) {
  SimulationSettings settings;
  settings.map = mixstream::FeatureMap::parse(kind.map).value();
  settings.component_count = kind.laws;
  settings.weights = kind.weights;
  settings.noise_variances = {kind.noise * kind.noise};
  settings.seed = seed;
  if (kind.dwell > 1.0) settings.stay = 1.0 - 1.0 / kind.dwell;
  settings.wander = kind.wander;
  settings.noise_memory = kind.memory;
  if (kind.rounded) settings.round_to = kind.noise;
  return settings;
}

/// Half-way: a law moves by one noise sd in every coefficient, the weights become 0.7, 0.2, 0.1, or laws last
/// a tenth as long.
void make_change(Simulation& simulation, const Kind& kind) {
  Mixture truth = simulation.truth();
  if (kind.change == Change::laws)
    for (double& coefficient : truth.law(0)) coefficient += kind.noise;
  if (kind.change == Change::weights) truth.weights = {0.7, 0.2, 0.1};
  if (kind.change == Change::dwell) simulation.set_stay(1.0 - 10.0 / kind.dwell);
  if (kind.change ==
      Change::weights) {  // stay() is a mean over laws: the chain keeps its memory, not its mean
    const double equal = 1.0 / static_cast<double>(kind.laws);
    const double memory = 1.0 - 1.0 / kind.dwell / (1.0 - equal);
    const double chance = mixstream::stay_by_chance(truth.weights);
    simulation.set_stay(memory + (1.0 - memory) * chance);
  }
  simulation.set_truth(truth);
}

}  // namespace

Stream drawn(const Kind& kind, std::uint64_t seed) {
  Simulation simulation(settings_of(kind, seed));
  Stream stream{{simulation.truth().feature_count, {}, {}}, {}, simulation.truth(), simulation.transitions()};
  stream.rows.x.reserve(kind.rows * stream.rows.features);
  for (std::size_t t = 0; t < kind.rows; ++t) {
    if (kind.change != Change::none && t == kind.rows / 2) make_change(simulation, kind);
    const mixstream::Row row = simulation.next();
    stream.rows.x.insert(stream.rows.x.end(), row.features.begin(), row.features.end());
    stream.rows.y.push_back(row.response);
    stream.made_by.push_back(simulation.component());
  }
  return stream;
}

std::uint64_t seed_of(std::string_view commit, const Kind& kind, std::size_t index) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char letter : std::string(commit) + "/" + kind.name + "/" + std::to_string(index))
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
  return hash >> 16;
}

yardstick::Laws true_laws(const Kind& kind, const Stream& stream, bool chain) {
  const std::size_t k = kind.laws;
  const double rho = chain ? kind.memory : 0.0;
  yardstick::Laws laws;
  laws.coefficients = stream.truth.coefficients;
  laws.transitions = stream.transitions;
  if (!chain)
    for (std::size_t i = 0; i < k; ++i)
      std::copy(stream.truth.weights.begin(), stream.truth.weights.end(),
                laws.transitions.begin() + static_cast<std::ptrdiff_t>(i * k));
  laws.variances.assign(k, kind.noise * kind.noise * (1.0 - rho * rho));
  laws.memory = rho;
  return laws;
}

}  // namespace sensor
