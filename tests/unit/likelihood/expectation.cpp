#include "mixstream/likelihood/expectation.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace mixstream;

namespace probe {
void exp_plain(double* values) noexcept;
void log_plain(double* values) noexcept;
#if defined(__x86_64__)
void exp_avx2(double* values) noexcept;
void log_avx2(double* values) noexcept;
#endif
}  // namespace probe

namespace {

using Probe = void (*)(double*) noexcept;

std::vector<std::pair<Probe, Probe>> probes() {
  std::vector<std::pair<Probe, Probe>> found{{probe::exp_plain, probe::log_plain}};
#if defined(__x86_64__)
  if (supported(InstructionSet::avx2)) found.emplace_back(probe::exp_avx2, probe::log_avx2);
#endif
  return found;
}

/// |found - wanted| in units of the last place of wanted.
double ulps(double found, long double wanted) {
  const double rounded = std::abs(static_cast<double>(wanted));
  const double unit = std::nextafter(rounded, std::numeric_limits<double>::infinity()) - rounded;
  return static_cast<double>(std::abs(found - wanted) / unit);
}

RowTable random_rows(std::size_t count, std::size_t features, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0.1, 3.0);
  RowTable rows{features, {}, {}, {}};
  std::vector<double> x(features);
  for (std::size_t i = 0; i < count; ++i) {
    for (double& value : x) value = normal(random);
    rows.add({x, 2.0 * normal(random), uniform(random)});
  }
  return rows;
}

Mixture random_mixture(std::size_t components, std::size_t features, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0.5, 2.0);
  Mixture mixture = empty_mixture(components, features);
  for (double& value : mixture.coefficients) value = normal(random);
  for (double& value : mixture.noise_variances) value = uniform(random);
  for (double& value : mixture.weights) value = 1.0 / static_cast<double>(components);
  return mixture;
}

/// The sums by their definition, in long double: the likelihood, then for each component its triangle and
/// count.
std::vector<long double> plain_sums(const RowTable& rows, const Mixture& mixture) {
  const std::size_t k = mixture.component_count();
  const std::size_t d = mixture.feature_count;
  const std::size_t size = (d + 1) * (d + 2) / 2 + 1;
  std::vector<long double> sums(1 + k * size, 0.0L);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<long double> density(k);
    std::vector<std::vector<long double>> z(k);
    long double total = 0.0L;
    for (std::size_t h = 0; h < k; ++h) {
      long double e = rows.responses[i];
      for (std::size_t j = 0; j < d; ++j) {
        z[h].push_back(rows.features[i * d + j]);
        e -= static_cast<long double>(mixture.law(h)[j]) * rows.features[i * d + j];
      }
      z[h].push_back(e);
      const long double variance = mixture.noise_variances[h];
      density[h] = mixture.weights[h] * std::exp(-e * e / (2.0L * variance)) /
                   std::sqrt(2.0L * std::acos(-1.0L) * variance);
      total += density[h];
    }
    sums[0] += rows.weights[i] * std::log(total);
    for (std::size_t h = 0; h < k; ++h) {
      const long double share = rows.weights[i] * density[h] / total;
      std::size_t at = 1 + h * size;
      for (std::size_t a = 0; a <= d; ++a) {
        for (std::size_t b = 0; b <= a; ++b) sums[at++] += share * z[h][a] * z[h][b];
      }
      sums[at] += share;
    }
  }
  return sums;
}

}  // namespace

TEST_CASE("the vector exponential is within two units in the last place, and zero where exp is nearly so") {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponent(-14.0, 2.8);
  for (const auto& [exponential, logarithm] : probes()) {
    double worst = 0.0;
    for (int round = 0; round < 20000; ++round) {
      double values[8];
      double given[8];
      for (double& value : values)
        value = (random() % 4 != 0 ? -1.0 : 1.0) * std::pow(10.0, exponent(random));
      std::copy(values, values + 8, given);
      exponential(values);
      for (int i = 0; i < 8; ++i) {
        if (given[i] < -700.0) CHECK(values[i] == 0.0);
        if (std::abs(given[i]) <= 700.0)
          worst = std::max(worst, ulps(values[i], std::exp(static_cast<long double>(given[i]))));
      }
    }
    CAPTURE(worst);
    CHECK(worst < 2.0);
    double edges[8] = {0.0, -0.0, -1e200, -1e9, -699.0, 1e-320, -1e-30, 1.0};
    exponential(edges);
    CHECK(edges[0] == 1.0);
    CHECK(edges[1] == 1.0);
    CHECK(edges[2] == 0.0);
    CHECK(edges[3] == 0.0);
    CHECK(edges[4] > 0.0);
    CHECK(edges[5] == 1.0);
    CHECK(edges[6] == 1.0);
  }
}

TEST_CASE("the vector logarithm is within two units in the last place over all normal numbers") {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> wide(-307.0, 308.0);
  std::uniform_real_distribution<double> near_one(0.5, 2.0);
  for (const auto& [exponential, logarithm] : probes()) {
    double worst = 0.0;
    for (int round = 0; round < 20000; ++round) {
      double values[8];
      double given[8];
      for (double& value : values)
        value = random() % 2 == 0 ? near_one(random) : std::pow(10.0, wide(random));
      std::copy(values, values + 8, given);
      logarithm(values);
      for (int i = 0; i < 8; ++i)
        worst = std::max(worst, ulps(values[i], std::log(static_cast<long double>(given[i]))));
    }
    CAPTURE(worst);
    CHECK(worst < 2.0);
    double edges[8] = {1.0, 2.0, 0.5, 1.0 + 1e-15, 1.0 - 1e-15, 32.0, 1e-307, 1e308};
    logarithm(edges);
    CHECK(edges[0] == 0.0);
    CHECK(ulps(edges[3], std::log(1.0L + (1.0 + 1e-15 - 1.0L))) < 2.0);
  }
}

TEST_CASE("the kernel's sums are the definition's, for every instruction set, shape and number of rows") {
  std::mt19937 random(3);
  for (const InstructionSet set : {InstructionSet::plain, InstructionSet::avx2}) {
    if (!supported(set)) continue;
    for (const std::size_t d : {1U, 2U, 3U, 4U, 5U, 8U, 13U}) {
      for (const std::size_t k : {1U, 2U, 3U, 7U}) {
        const RowTable rows = random_rows(1 + random() % 200, d, random);
        const Mixture mixture = random_mixture(k, d, random);
        const RowBlocks blocks(rows);
        Expectation expectation(k, d, set);
        expectation.begin(mixture);
        for (std::size_t b = 0; b < blocks.block_count(); ++b) expectation.add(blocks.block(b));
        const std::vector<long double> wanted = plain_sums(rows, mixture);
        const auto near = [](double found, long double value) {
          return std::abs(found - value) < 1e-11L * (1.0L + std::abs(value));
        };
        CHECK(near(expectation.log_likelihood(), wanted[0]));
        std::size_t at = 1;
        for (std::size_t h = 0; h < k; ++h) {
          const ComponentSums sums = component_sums(expectation.sums(), h, d);
          for (const double sum : sums.triangle) CHECK(near(sum, wanted[at++]));
          CHECK(near(sums.count, wanted[at++]));
        }
        Expectation likelihood(k, d, set);
        likelihood.begin(mixture);
        for (std::size_t b = 0; b < blocks.block_count(); ++b) likelihood.add_likelihood(blocks.block(b));
        CHECK(likelihood.log_likelihood() == expectation.log_likelihood());
      }
    }
  }
}

TEST_CASE("rows that are not finite or have no weight count for nothing") {
  std::mt19937 random(4);
  RowTable rows = random_rows(100, 2, random);
  RowTable dirty{2, {}, {}, {}};
  const double nan = std::nan("");
  const double bad[2] = {1.0, nan};
  const double good[2] = {1.0, 2.0};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    dirty.add(rows.row(i));
    dirty.add({bad, 1.0, 1.0});
    dirty.add({good, std::numeric_limits<double>::infinity(), 1.0});
    dirty.add({good, 1.0, nan});
    dirty.add({good, 1.0, -2.0});
    dirty.add({good, 1.0, 0.0});
  }
  const RowBlocks clean(rows);
  const RowBlocks mixed(dirty);
  CHECK(mixed.total_weight() == doctest::Approx(clean.total_weight()).epsilon(1e-14));
  CHECK(mixed.response_variance() == doctest::Approx(clean.response_variance()).epsilon(1e-12));
  const Mixture mixture = random_mixture(2, 2, random);
  double sums[2];
  for (int side = 0; side < 2; ++side) {
    const RowBlocks& blocks = side == 0 ? clean : mixed;
    Expectation expectation(2, 2);
    expectation.begin(mixture);
    for (std::size_t b = 0; b < blocks.block_count(); ++b) expectation.add(blocks.block(b));
    sums[side] = expectation.log_likelihood();
  }
  CHECK(sums[0] == doctest::Approx(sums[1]).epsilon(1e-12));
}
