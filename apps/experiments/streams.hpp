// The settings of the paper's tables and ours, as simulated streams: what experiments and studies run on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "mixstream/core/layout.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/rows/simulation.hpp"

namespace experiments {

using namespace mixstream;

struct Setting {
  std::string name;
  std::string map;
  std::size_t k = 2;
  std::vector<double> weights;
  std::vector<double> noise_variances = {0.1};
  bool normal_columns = false;
  bool cut = false;
  std::vector<double> coefficients;  // B, k x d; empty: drawn

  NoiseModel noise() const {
    return noise_variances.size() > 1 ? NoiseModel::per_component : NoiseModel::shared;
  }
};

/// With seven laws plain EM takes a thousand iterations of all rows, half a minute a start: it is
/// extrapolated.
inline bool has_many_laws(const Setting& setting) {
  return setting.k >= 7;
}

inline std::vector<Setting> table_settings() {
  const std::string d4 = "1,t,t^4,t^7";
  const std::string d5 = "1,u,v,u^2*v^2,u^5";
  const std::string square = "1,u,v,u^2*v^2";
  const std::string d6 = "1,u,v,u*v^3,u^2*v^2,u^3*v";
  return {{"b1d4 k2", d4, 2},
          {"b1d4 k3", d4, 3},
          {"b2d5 k2", d5, 2},
          {"b2d5 k3", d5, 3},
          {"b2d4 k3", square, 3},
          {"b2d6 k2", d6, 2},
          {"b2d6 k5", d6, 5},
          {"b1d4cut k2", d4, 2, {}, {0.1}, false, true},
          {"b2d5cut k3", d5, 3, {}, {0.1}, false, true},
          {"gauss5 k3", "a,b,c,e,f", 3, {0.5, 0.3, 0.2}, {0.1}, true},
          {"line k2", "1,t", 2, {0.65, 0.35}, {0.05, 0.4}},
          {"parabola k2", "1,t,t^2", 2}};
}

/// A drawn stream: raw rows, and what an estimator would keep of them.
struct Drawn {
  Mixture truth;
  RowTable rows;
  Layout layout;
};

inline Drawn draw(const Setting& setting, std::size_t rows, std::uint64_t seed) {
  auto map = FeatureMap::parse(setting.map);
  if (!map) throw std::invalid_argument(map.refusal().text);
  Simulation simulation(
      {.map = map.value(),
       .component_count = setting.k,
       .weights = setting.weights,
       .noise_variances = setting.noise_variances,
       .coefficients = setting.coefficients.empty() ? std::nullopt : std::optional(setting.coefficients),
       .normal_columns = setting.normal_columns,
       .cut = setting.cut,
       .seed = seed});
  const Layout layout{static_cast<int>(map.value().feature_count()), map.value().constant_feature()};
  return {simulation.truth(), simulation.table(rows), layout};
}

/// Noise of variance 0.1 that is not Gaussian.
enum class OtherNoise { laplace, student5, skewed, unequal };
inline constexpr const char* other_noise_names[] = {"laplace", "t5", "skewed", "unequal"};

inline double noise_draw(OtherNoise noise, std::size_t component, Random& random) {
  const double size = std::sqrt(0.1);
  const double exponential = -std::log(1.0 - random.uniform());
  if (noise == OtherNoise::laplace) {
    return size / std::sqrt(2.0) * exponential * (random.uniform() < 0.5 ? -1.0 : 1.0);
  }
  if (noise == OtherNoise::skewed) return size * (exponential - 1.0);
  if (noise == OtherNoise::unequal) return size * random.normal() * (component == 0 ? 0.5 : 1.3);
  double squares = 0.0;
  for (int i = 0; i < 5; ++i) squares += std::pow(random.normal(), 2.0);
  return size * std::sqrt(3.0 / 5.0) * random.normal() / std::sqrt(squares / 5.0);
}

/// The same features with responses drawn anew.
inline Drawn with_noise(Drawn drawn, OtherNoise noise, std::uint64_t seed) {
  Random random(seed);
  for (std::size_t i = 0; i < drawn.rows.size(); ++i) {
    std::size_t h = 0;
    for (double left = random.uniform(); h + 1 < drawn.truth.component_count(); ++h) {
      if ((left -= drawn.truth.weights[h]) < 0.0) break;
    }
    const std::span<const double> x = drawn.rows.row(i).features;
    drawn.rows.responses[i] = std::inner_product(x.begin(), x.end(), drawn.truth.law(h).begin(), 0.0) +
                              noise_draw(noise, h, random);
  }
  return drawn;
}

/// |B* - B|_F, least over all labellings.
inline double law_error(const Mixture& truth, const Mixture& fit) {
  std::vector<std::size_t> order(truth.component_count());
  std::iota(order.begin(), order.end(), std::size_t{0});
  double least = std::numeric_limits<double>::infinity();
  do {
    double squares = 0.0;
    for (std::size_t h = 0; h < order.size(); ++h) {
      for (std::size_t j = 0; j < truth.feature_count; ++j) {
        const double difference = truth.law(h)[j] - fit.law(order[h])[j];
        squares += difference * difference;
      }
    }
    least = std::min(least, squares);
  } while (std::ranges::next_permutation(order).found);
  return std::sqrt(least);
}

}  // namespace experiments
