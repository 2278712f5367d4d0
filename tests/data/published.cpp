// Our EM on real data, against published fits and against mixtools and flexmix run by the same test
// (published.R).
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "mixstream/likelihood/em_search.hpp"
#include "mixstream/likelihood/matching.hpp"

using namespace mixstream;

namespace {

std::ifstream opened(const std::string& name) {
  const char* folder = std::getenv("MIXSTREAM_PUBLISHED");
  REQUIRE_MESSAGE(folder != nullptr, "run by tests/data/published");
  std::ifstream file(std::string(folder) + "/" + name);
  REQUIRE_MESSAGE(file, name);
  return file;
}

RowTable rows_of(const std::string& name) {
  std::ifstream file = opened(name + ".rows");
  RowTable rows{2, {}, {}, {}};
  double x[2] = {1.0, 0.0};
  double y = 0.0;
  while (file >> x[1] >> y) rows.add({x, y});
  return rows;
}

struct Known {
  double log_likelihood;  // of all rows
  Mixture mixture;
};

Known fit_of(const std::string& name) {
  std::ifstream file = opened(name);
  Known known{0.0, empty_mixture(2, 2)};
  file >> known.log_likelihood;
  for (std::size_t h = 0; h < 2; ++h) {
    double sigma = 0.0;
    file >> known.mixture.weights[h] >> known.mixture.law(h)[0] >> known.mixture.law(h)[1] >> sigma;
    known.mixture.noise_variances[h] = sigma * sigma;
  }
  REQUIRE(file);
  return known;
}

/// Every parameter of the fit within `digits` of what is known: weights, laws and sigma.
void check_near(const Mixture& found, const Mixture& known, double law_digits, double sigma_digits) {
  const Mixture ours = relabelled(found, matching_order(known, found));
  for (std::size_t h = 0; h < 2; ++h) {
    CHECK(std::abs(ours.weights[h] - known.weights[h]) <= law_digits);
    for (std::size_t j = 0; j < 2; ++j) CHECK(std::abs(ours.law(h)[j] - known.law(h)[j]) <= law_digits);
    CHECK(std::abs(std::sqrt(ours.noise_variances[h]) - std::sqrt(known.noise_variances[h])) <= sigma_digits);
  }
}

Mixture mixture_of(std::vector<double> weights, std::vector<double> laws, double first_sigma,
                   double second_sigma) {
  return {2, std::move(weights), std::move(laws), {first_sigma * first_sigma, second_sigma * second_sigma}};
}

const EmSettings tight{.noise = NoiseModel::per_component, .max_iterations = 20000, .stop_below_gain = 1e-14};

EmSearch searched(const RowTable& rows) {
  return best_of_random_starts(rows, 2, 20, 1, tight).value();
}

}  // namespace

TEST_CASE(
    "the published fit of CO2data is found to its last digit, from the published start and stopping rule") {
  const RowTable rows = rows_of("CO2data");
  REQUIRE(rows.size() == 28);
  const Mixture start = mixture_of({0.25, 0.75}, {8.0, -1.0, 1.0, 1.0}, 2.0, 1.0);
  const EmFit fit = fit_em(rows, start, {.noise = NoiseModel::per_component, .stop_below_gain = 1e-8 / 28.0});
  const Mixture published =
      mixture_of({0.754921, 0.245079}, {8.678987, -0.023344, 1.415150, 0.676596}, 2.0493, 0.8094);
  CHECK(fit.converged);
  CHECK(fit.iterations == 10);  // as published
  check_near(fit.mixture, published, 0.5e-6, 0.5e-4);
  CHECK(std::abs(28.0 * fit.mean_log_likelihood + 66.93977) <= 0.5e-5);
}

TEST_CASE("random starts find the known optima of NOdata and tonedata to their digits") {
  const RowTable nitrogen = rows_of("NOdata");
  const EmSearch first = searched(nitrogen);
  check_near(first.best.mixture,
             mixture_of({0.490, 0.510}, {0.5650, 0.0850, 1.2471, -0.0830}, 0.0433, 0.0241), 0.5e-3, 0.5e-4);
  CHECK(std::abs(88.0 * first.best.mean_log_likelihood - 122.038) <= 0.5e-3);
  const RowTable tones = rows_of("tonedata");
  const EmSearch second = searched(tones);
  check_near(second.best.mixture,
             mixture_of({0.6977, 0.3023}, {1.9164, 0.0425, -0.0193, 0.9923}, 0.0462, 0.1328), 0.5e-4, 0.5e-4);
  CHECK(std::abs(150.0 * second.best.mean_log_likelihood - 141.198) <= 0.5e-3);
}

TEST_CASE("the spurious optimum of tonedata is more likely, is told as spurious, and is not chosen") {
  const RowTable rows = rows_of("tonedata");
  const Mixture honest = mixture_of({0.7, 0.3}, {1.9, 0.0, 0.0, 1.0}, 0.05, 0.1);
  const Mixture sunk = mixture_of({0.6, 0.4}, {1.56, 0.2, 0.0, 1.0}, 0.2, 0.005);
  const EmSearch search = best_of_starts(rows, std::vector<Mixture>{sunk, honest}, tight).value();
  REQUIRE(search.spurious);
  CHECK(std::abs(150.0 * search.spurious->mean_log_likelihood - 145.417) <= 0.5e-3);
  const std::vector<double>& variances = search.spurious->mixture.noise_variances;
  CHECK(std::abs(std::sqrt(std::min(variances[0], variances[1])) - 0.0045) <= 0.5e-4);
  CHECK_FALSE(search.best_is_spurious);
  CHECK(search.starts[0].spurious);
  CHECK_FALSE(search.starts[1].spurious);
  CHECK(std::abs(150.0 * search.best.mean_log_likelihood - 141.198) <= 0.5e-3);
}

TEST_CASE("regmixEM and flexmix, run on the same rows, find no better fit") {
  for (const std::string name : {"CO2data", "NOdata", "tonedata"}) {
    CAPTURE(name);
    const RowTable rows = rows_of(name);
    const EmSearch search = searched(rows);
    const double ours = static_cast<double>(rows.size()) * search.best.mean_log_likelihood;
    const Known mixtools = fit_of(name + ".regmixEM");
    CHECK(std::abs(ours - mixtools.log_likelihood) < 1e-6);
    check_near(search.best.mixture, mixtools.mixture, 2e-5, 2e-6);
    // flexmix divides by n - d for sigma, and so stops beside the maximum; it must not stand above ours.
    const Known flexmix = fit_of(name + ".flexmix");
    CHECK(flexmix.log_likelihood < ours + 1e-6);
    CHECK(flexmix.log_likelihood > ours - 0.1);
    check_near(search.best.mixture, flexmix.mixture, 0.05, 0.1);
  }
}
