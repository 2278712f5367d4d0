// Every score of an extension against differences of the larger model's log-likelihood, written out anew
// here.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "mixstream/core/random.hpp"
#include "mixstream/doubts/extension.hpp"
#include "mixstream/doubts/sight.hpp"

using namespace mixstream;

namespace {

constexpr std::size_t k = 3;
constexpr std::size_t d = 3;

/// A model with every extension in it, two rows long: what the second row's density is given the first.
struct Larger {
  std::vector<double> weights = {0.45, 0.3, 0.25};
  std::vector<std::vector<double>> laws = {{1.0, 0.8, -0.4}, {-0.6, -0.9, 0.7}, {0.2, 0.1, 1.1}};
  std::vector<double> variances = {0.3, 0.3, 0.3};
  std::vector<double> term = {0.0, 0.0, 0.0};  // of t
  std::vector<double> gate = {0.0, 0.0, 0.0};  // of w
  std::vector<double> log_variance = {0.0, 0.0, 0.0};
  double growth = 0.0;  // of v
  double skew = 0.0;
  double inverse_freedom = 0.0;
  double stay = 0.0;
  double memory = 0.0;
  std::vector<std::vector<double>> delay = std::vector<std::vector<double>>(k, std::vector<double>(d));

  double density(double z) const {
    const double plain = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
    if (inverse_freedom > 0.0) {
      const double nu = 1.0 / inverse_freedom;
      return std::exp(std::lgamma(0.5 * (nu + 1)) - std::lgamma(0.5 * nu) -
                      0.5 * std::log(nu * std::numbers::pi) - 0.5 * (nu + 1) * std::log1p(z * z / nu));
    }
    return plain * (1.0 + skew * (z * z * z - 3.0 * z) / 6.0);
  }

  std::vector<double> joint(std::span<const double> x, double y, double t, double w, double v,
                            std::span<const double> chances, std::span<const double> before,
                            double noise_before) const {
    std::vector<double> result(k);
    double total = 0.0;
    for (std::size_t h = 0; h < k; ++h) total += chances[h] * std::exp(gate[h] * w);
    for (std::size_t h = 0; h < k; ++h) {
      double mean = term[h] * t + memory * noise_before;
      for (std::size_t j = 0; j < d; ++j) mean += laws[h][j] * x[j] + delay[h][j] * before[j];
      const double sd = std::sqrt(variances[h] * std::exp(log_variance[h] + growth * v));
      result[h] = chances[h] * std::exp(gate[h] * w) / total * density((y - mean) / sd) / sd;
    }
    return result;
  }

  /// log p(second row | first row).
  double log_second(const std::vector<std::vector<double>>& x, const std::vector<double>& y, double t,
                    double w, double v) const {
    const std::vector<double> none(d);
    const Larger plain;  // the first row is seen as the model sees it
    std::vector<double> first = plain.joint(x[0], y[0], 0, 0, 0, weights, none, 0);
    double total = 0.0, noise = 0.0;
    for (const double part : first) total += part;
    std::vector<double> chances(k);
    for (std::size_t h = 0; h < k; ++h) {
      double residual = y[0];
      for (std::size_t j = 0; j < d; ++j) residual -= laws[h][j] * x[0][j];
      noise += first[h] / total * residual;
      chances[h] = stay * first[h] / total + (1.0 - stay) * weights[h];
    }
    double sum = 0.0;
    for (const double part : joint(x[1], y[1], t, w, v, chances, x[0], noise)) sum += part;
    return std::log(sum);
  }
};

struct TwoRows {
  std::vector<std::vector<double>> x;
  std::vector<double> y;
};

TwoRows draw(Random& random) {
  TwoRows rows;
  for (int t = 0; t < 2; ++t) {
    rows.x.push_back({1.0, random.uniform(-1, 1), random.uniform(-1, 1)});
    rows.y.push_back(1.2 * random.normal());
  }
  return rows;
}

}  // namespace

TEST_CASE("every score is the slope of the larger model's log-likelihood") {
  const Larger at;
  ModeShape shape{k, d, Modes::independent, {}, NoiseModel::shared, {}};
  ModeModel model = empty_model(shape);
  model.laws.weights = at.weights;
  model.laws.noise_variances = at.variances;
  for (std::size_t h = 0; h < k; ++h) std::ranges::copy(at.laws[h], model.laws.law(h).begin());
  Layout layout{3, 0};
  DoubtRows held;
  held.layout = &layout;
  held.features = {"1", "u", "v"};
  const RawUnits units(held, d);
  Random random(5);
  for (int trial = 0; trial < 40; ++trial) {
    const TwoRows rows = draw(random);
    const double value = 0.7;  // of every regressor at the second row
    HeldDesign design;
    for (std::size_t t = 0; t < 2; ++t)
      design.rows.push_back({{rows.x[t], rows.y[t]}, 0, static_cast<unsigned>(t)});
    design.terms.push_back({"u^2", {0.0, value}, 1.0});
    design.gates.push_back({"u", {0.0, value}, 1.0});
    design.spreads.push_back({"u", {0.0, value}, 1.0});
    const auto scores = [&](Concern concern) {
      const Extension extension(shape, design, units, concern);
      Sighting sighting(model, shape, 1);
      std::vector<double> result(extension.columns());
      sighting.see(design.rows[0].row, 0, 0);
      sighting.remember(design.rows[0].row, 0);
      const Sight& sight = sighting.see(design.rows[1].row, 0, 1);
      extension.score(sight, sighting.before(0), 1, result);
      return result;
    };
    const auto slope = [&](const std::function<double&(Larger&)>& pick) {
      Larger up, down;
      pick(up) += 1e-5;
      pick(down) -= 1e-5;
      return (up.log_second(rows.x, rows.y, value, value, value) -
              down.log_second(rows.x, rows.y, value, value, value)) /
             2e-5;
    };
    const auto by_rows = scores(Concern::rows);
    const auto by_order = scores(Concern::order);
    std::size_t column = 0;
    const auto check = [&](double score, const char* name, const std::function<double&(Larger&)>& pick) {
      INFO(name);
      CHECK(score == doctest::Approx(slope(pick)).epsilon(1e-6).scale(1.0));
    };
    for (std::size_t h = 0; h < k; ++h)
      check(by_rows[column++], "term", [h](Larger& m) -> double& { return m.term[h]; });
    for (std::size_t h = 0; h + 1 < k; ++h)
      check(by_rows[column++], "gate", [h](Larger& m) -> double& { return m.gate[h]; });
    check(by_rows[column++], "growth", [](Larger& m) -> double& { return m.growth; });
    for (std::size_t h = 0; h + 1 < k; ++h)
      check(by_rows[column++], "unequal", [h](Larger& m) -> double& { return m.log_variance[h]; });
    bool inside = true;  // of the clip at 4
    for (std::size_t h = 0; h < k; ++h) {
      double z = rows.y[1];
      for (std::size_t j = 0; j < d; ++j) z -= at.laws[h][j] * rows.x[1][j];
      inside &= std::abs(z) / std::sqrt(at.variances[h]) < 4.0;
    }
    if (inside) check(by_rows[column], "skew", [](Larger& m) -> double& { return m.skew; });
    ++column;
    if (inside) {  // d / d(1/nu) is He4 / 4 + (z^2 - 1): the latter twice the score of log s^2
      Larger heavy;
      heavy.inverse_freedom = 1e-5;
      Larger heavier;
      heavier.inverse_freedom = 2e-5;
      const double wanted =
          (4.0 * heavy.log_second(rows.x, rows.y, 0, 0, 0) - heavier.log_second(rows.x, rows.y, 0, 0, 0) -
           3.0 * at.log_second(rows.x, rows.y, 0, 0, 0)) /
          2e-5;
      double scale = 0.0;
      for (std::size_t h = 0; h < k; ++h)
        scale += slope([h](Larger& m) -> double& { return m.log_variance[h]; });
      CHECK(by_rows[column] == doctest::Approx(wanted - 2.0 * scale).epsilon(2e-3).scale(1.0));
    }
    column = 0;
    check(by_order[column++], "stay", [](Larger& m) -> double& { return m.stay; });
    // The noise is remembered in units of its sd, which all laws share.
    check(by_order[column++], "memory", [](Larger& m) -> double& { return m.memory; });
    for (std::size_t h = 0; h < k; ++h) {
      for (std::size_t j = 1; j < d; ++j)
        check(by_order[column++], "delay", [h, j](Larger& m) -> double& { return m.delay[h][j]; });
    }
  }
}

TEST_CASE("the clipped fourth Hermite function has mean zero under the normal law") {
  double sum = 0.0, third = 0.0;
  for (int i = -120000; i <= 120000; ++i) {
    const double z = i * 1e-4;
    const double density = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi) * 1e-4;
    sum += clipped_fourth(z) * density;
    third += clipped_third(z) * density;
  }
  CHECK(std::abs(sum) < 1e-9);
  CHECK(std::abs(third) < 1e-9);
}
