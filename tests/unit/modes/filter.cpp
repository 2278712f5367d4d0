// The filter against brute force that shares no code with it: every path of modes summed, densities written
// out anew; and its scores against differences of that sum.
#include "mixstream/modes/filter.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "mixstream/core/random.hpp"

using namespace mixstream;

namespace {

struct Rows {
  std::size_t d = 2;
  std::vector<std::vector<double>> x;
  std::vector<double> y;
  std::vector<unsigned> steps;
};

Rows some_rows(std::size_t count, bool gaps, Random& random, std::size_t d = 2) {
  Rows rows;
  rows.d = d;
  for (std::size_t t = 0; t < count; ++t) {
    rows.x.push_back({1.0});
    while (rows.x.back().size() < d) rows.x.back().push_back(random.uniform(-1.0, 1.0));
    rows.y.push_back(1.5 * random.normal());
    rows.steps.push_back(t == 0 ? 0U : gaps && t % 3 == 2 ? 2U + static_cast<unsigned>(t % 2) : 1U);
  }
  return rows;
}

using Matrix = std::vector<std::vector<double>>;

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.size(), std::vector<double>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t l = 0; l < a.size(); ++l)
      for (std::size_t j = 0; j < a.size(); ++j) c[i][j] += a[i][l] * b[l][j];
  return c;
}

/// theta written out anew, by the words of modes/model.hpp.
struct Plain {
  std::size_t k, d;
  Matrix beta, a, gamma;
  std::vector<double> pi, s2;
  double nu = 0.0, rho = 0.0;
};

Plain read(const ModeShape& shape, const std::vector<double>& theta) {
  Plain p{shape.component_count, shape.feature_count, {}, {}, {}, {}, {}};
  std::size_t at = 0;
  for (std::size_t h = 0; h < p.k; ++h) {
    p.beta.push_back({});
    for (std::size_t j = 0; j < p.d; ++j) p.beta[h].push_back(theta[at++]);
  }
  if (shape.modes == Modes::persistent) {
    for (std::size_t i = 0; i < p.k; ++i) {
      p.a.push_back(std::vector<double>(p.k));
      double total = 1.0;
      for (std::size_t j = 0; j < p.k; ++j) {
        p.a[i][j] = j == i ? 1.0 : std::exp(theta[at++]);
        if (j != i) total += p.a[i][j];
      }
      for (double& way : p.a[i]) way /= total;
    }
    Matrix power = p.a;  // long after, every row is the stationary distribution
    for (int i = 0; i < 10; ++i) power = product(power, power);
    p.pi = power[0];
  } else if (shape.modes == Modes::gated) {
    for (std::size_t h = 0; h < p.k; ++h) {
      p.gamma.push_back(std::vector<double>(shape.gate.size()));
      for (std::size_t w = 0; w < shape.gate.size() && h + 1 < p.k; ++w) p.gamma[h][w] = theta[at++];
    }
  } else {
    double total = 1.0;
    for (std::size_t h = 0; h + 1 < p.k; ++h) total += std::exp(theta[at + h]);
    for (std::size_t h = 0; h + 1 < p.k; ++h) p.pi.push_back(std::exp(theta[at++]) / total);
    p.pi.push_back(1.0 / total);
  }
  for (std::size_t h = 0; h < p.k; ++h)
    p.s2.push_back(std::exp(theta[at + (shape.noise == NoiseModel::per_component ? h : 0)]));
  at += shape.noise == NoiseModel::per_component ? p.k : 1;
  if (shape.noise_shape.tails) p.nu = std::exp(theta[at++]);
  if (shape.noise_shape.memory) p.rho = std::tanh(theta[at]);
  return p;
}

double density(double e, double s2, double nu) {
  if (nu == 0.0) return std::exp(-0.5 * e * e / s2) / std::sqrt(2.0 * std::numbers::pi * s2);
  return std::tgamma(0.5 * (nu + 1)) / std::tgamma(0.5 * nu) / std::sqrt(nu * std::numbers::pi * s2) *
         std::pow(1.0 + e * e / s2 / nu, -0.5 * (nu + 1));
}

/// log p(y_1 .. y_T) by the sum over all k^T paths of modes.
double by_paths(const ModeShape& shape, const std::vector<double>& theta, const Rows& rows) {
  const Plain p = read(shape, theta);
  const std::size_t count = rows.y.size();
  std::size_t paths = 1;
  for (std::size_t t = 0; t < count; ++t) paths *= p.k;
  double total = 0.0;
  for (std::size_t path = 0; path < paths; ++path) {
    double term = 1.0;
    std::size_t rest = path;
    std::size_t before = 0;
    for (std::size_t t = 0; t < count; ++t) {
      const std::size_t h = rest % p.k;
      rest /= p.k;
      const auto residual = [&](std::size_t law, std::size_t at) {
        double e = rows.y[at];
        for (std::size_t f = 0; f < rows.d; ++f) e -= p.beta[law][f] * rows.x[at][f];
        return e;
      };
      const unsigned steps = rows.steps[t];
      double chance = p.pi.empty() ? 0.0 : p.pi[h];
      if (shape.modes == Modes::gated) {
        double sum = 0.0;
        for (std::size_t g = 0; g < p.k; ++g) {
          double logit = 0.0;
          for (std::size_t w = 0; w < shape.gate.size(); ++w)
            logit += p.gamma[g][w] * rows.x[t][shape.gate[w]];
          sum += std::exp(logit);
          if (g == h) chance = std::exp(logit);
        }
        chance /= sum;
      }
      if (shape.modes == Modes::persistent && steps > 0) {
        Matrix power = p.a;
        for (unsigned g = 1; g < steps; ++g) power = product(power, p.a);
        chance = power[before][h];
      }
      double kept = 0.0;
      double variance = p.s2[h];
      if (shape.noise_shape.memory) {
        const double stationary = p.s2[h] / (1.0 - p.rho * p.rho);
        kept = steps == 0 ? 0.0 : std::pow(p.rho, steps);
        variance = stationary * (1.0 - kept * kept);
      }
      const double e = residual(h, t) - (kept == 0.0 ? 0.0 : kept * residual(before, t - 1));
      term *= chance * density(e, variance, p.nu);
      before = h;
    }
    total += term;
  }
  return std::log(total);
}

std::vector<double> some_theta(const ModeShape& shape, Random& random) {
  std::vector<double> theta(shape.parameters());
  for (double& value : theta) value = 0.7 * random.normal();
  if (shape.modes == Modes::persistent)
    for (std::size_t q = shape.who_at(); q < shape.variances_at(); ++q) theta[q] -= 1.0;
  if (shape.noise_shape.tails) theta[shape.tails_at()] = std::log(4.0);
  return theta;
}

struct Followed {
  double log_likelihood = 0.0;
  std::vector<double> score;
  std::vector<double> modes;
};

Followed follow(const ModeShape& shape, std::vector<double> theta, const Rows& rows,
                InstructionSet set = best_instruction_set()) {
  ModeFilter filter(shape, set);
  ModeModel model = empty_model(shape);
  from_parameters(theta, shape, model);
  filter.set_anchor(model);
  std::vector<double> chain(filter.chain_size());
  std::vector<double> score(filter.stride());
  std::vector<double> used(shape.component_count);
  Followed result;
  result.score.resize(shape.parameters());
  for (std::size_t t = 0; t < rows.y.size(); ++t) {
    result.log_likelihood += filter.advance(chain, {rows.x[t], rows.y[t]}, rows.steps[t], score, used);
    for (std::size_t q = 0; q < result.score.size(); ++q) result.score[q] += score[q];
  }
  const auto modes = filter.filtered(chain);
  result.modes.assign(modes.begin(), modes.end());
  return result;
}

std::vector<ModeShape> all_shapes() {
  std::vector<ModeShape> shapes;
  for (const Modes modes : {Modes::independent, Modes::persistent, Modes::gated}) {
    for (const NoiseModel noise : {NoiseModel::shared, NoiseModel::per_component}) {
      for (const bool tails : {false, true}) {
        for (const bool memory : {false, true}) {
          shapes.push_back({3, 2, modes, {}, noise, {tails, memory}});
          if (modes == Modes::gated) shapes.back().gate = {0, 1};
        }
      }
    }
  }
  return shapes;
}

std::string words(const ModeShape& shape) {
  return std::string(name_of(shape.modes)) + (shape.noise == NoiseModel::shared ? " shared" : " per law") +
         (shape.noise_shape.tails ? " tails" : "") + (shape.noise_shape.memory ? " memory" : "");
}

void check_slopes(const ModeShape& shape, std::size_t count, Random& random, InstructionSet set) {
  CAPTURE(words(shape));
  const Rows rows = some_rows(count, true, random, shape.feature_count);
  const std::vector<double> theta = some_theta(shape, random);
  const Followed followed = follow(shape, theta, rows, set);
  CHECK(followed.log_likelihood == doctest::Approx(by_paths(shape, theta, rows)).epsilon(1e-11));
  for (std::size_t q = 0; q < theta.size(); ++q) {
    CAPTURE(q);
    const double h = 1e-5;
    const auto at = [&](double by) {
      std::vector<double> moved = theta;
      moved[q] += by;
      return by_paths(shape, moved, rows);
    };
    const double slope = (8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h);
    CHECK(std::abs(followed.score[q] - slope) < 1e-8 * (1.0 + std::abs(slope)));
  }
}

}  // namespace

TEST_CASE("the filter's likelihood is the sum over all paths of modes, for every model, with gaps") {
  Random random(11);
  for (const ModeShape& shape : all_shapes()) {
    for (const bool gaps : {false, true}) {
      CAPTURE(words(shape));
      CAPTURE(gaps);
      const Rows rows = some_rows(7, gaps, random);
      const std::vector<double> theta = some_theta(shape, random);
      CHECK(follow(shape, theta, rows).log_likelihood ==
            doctest::Approx(by_paths(shape, theta, rows)).epsilon(1e-11));
    }
  }
}

TEST_CASE("scores are the slopes of that sum") {
  Random random(12);
  for (const ModeShape& shape : all_shapes()) check_slopes(shape, 6, random, best_instruction_set());
}

TEST_CASE("so they are for every number of laws and features, by every instruction set") {
  Random random(16);
  for (const InstructionSet set : {InstructionSet::plain, InstructionSet::avx2, InstructionSet::avx512}) {
    if (!supported(set)) continue;
    CAPTURE(name_of(set));
    for (const auto& size : {std::pair<std::size_t, std::size_t>{1, 3},
                             {2, 1},
                             {2, 17},
                             {3, 8},
                             {4, 4},
                             {4, 9},
                             {5, 3},
                             {6, 2},
                             {9, 2}}) {
      const auto k = size.first;
      const auto d = size.second;
      CAPTURE(k);
      CAPTURE(d);
      const std::size_t rows = k > 4 ? 3 : 4;
      check_slopes({k, d, Modes::persistent, {}, NoiseModel::shared, {}}, rows, random, set);
      check_slopes({k, d, Modes::persistent, {}, NoiseModel::per_component, {true, true}}, rows, random, set);
    }
  }
}

TEST_CASE("products of a block of scores are those of its rows one by one") {
  Random random(17);
  for (const InstructionSet set : {InstructionSet::plain, InstructionSet::avx2, InstructionSet::avx512}) {
    if (!supported(set)) continue;
    CAPTURE(name_of(set));
    const ModeFilter filter({2, 1, Modes::persistent, {}, NoiseModel::shared, {}}, set);
    for (const std::size_t size : {1U, 7U, 8U, 9U, 19U, 24U, 45U}) {
      CAPTURE(size);
      const std::size_t rows = 64 - size;
      const std::size_t stride = (size + 7) / 8 * 8;
      std::vector<double> scores(rows * stride), weights(rows), scratch(rows * stride), sums(stride);
      std::vector<double> packed(size * (size + 1) / 2, 1.0);
      std::vector<double> expected = packed;
      std::vector<double> expected_sums(stride);
      for (std::size_t t = 0; t < rows; ++t) {
        weights[t] = random.uniform(0.5, 2.0);
        double* score = &scores[t * stride];
        for (std::size_t q = 0, at = 0; q < size; ++q) {
          score[q] = random.normal();
          expected_sums[q] += weights[t] * score[q];
          for (std::size_t p = 0; p <= q; ++p) expected[at++] += weights[t] * score[q] * score[p];
        }
      }
      filter.kernels().add_products(rows, size, stride, scores.data(), weights.data(), scratch.data(),
                                    sums.data(), packed.data());
      for (std::size_t q = 0; q < stride; ++q) CHECK(std::abs(sums[q] - expected_sums[q]) < 1e-11);
      for (std::size_t at = 0; at < packed.size(); ++at) CHECK(std::abs(packed[at] - expected[at]) < 1e-11);
    }
  }
}

TEST_CASE("a gap too long to matter begins the chain anew") {
  Random random(13);
  const ModeShape shape{2, 2, Modes::persistent, {}, NoiseModel::shared, {}};
  Rows rows = some_rows(4, false, random);
  const std::vector<double> theta = some_theta(shape, random);
  Rows cut = rows;
  rows.steps[2] = ModeFilter::longest_gap + 1;
  cut.steps[2] = 0;
  CHECK(follow(shape, theta, rows).log_likelihood == follow(shape, theta, cut).log_likelihood);
}

TEST_CASE("all instruction sets give the same scores") {
  Random random(14);
  for (const ModeShape& shape : all_shapes()) {
    const Rows rows = some_rows(20, true, random);
    const std::vector<double> theta = some_theta(shape, random);
    const Followed plain = follow(shape, theta, rows, InstructionSet::plain);
    const Followed best = follow(shape, theta, rows);
    for (std::size_t q = 0; q < theta.size(); ++q)
      CHECK(std::abs(plain.score[q] - best.score[q]) < 1e-10 * (1.0 + std::abs(plain.score[q])));
  }
}

TEST_CASE("a row that no law comes near leaves finite probabilities") {
  Random random(15);
  for (const ModeShape& shape : all_shapes()) {
    Rows rows = some_rows(5, false, random);
    rows.y[2] = 1e30;
    const Followed followed = follow(shape, some_theta(shape, random), rows);
    CHECK(std::isfinite(followed.log_likelihood));
    for (const double mode : followed.modes) CHECK(std::isfinite(mode));
    for (const double slope : followed.score) CHECK(std::isfinite(slope));
  }
}
