// How near refinement comes to the full-data maximum likelihood estimate, what its J and verdict are worth.
// refinement accuracy|calibration [ROWS [SEEDS [SETTING]]]: one line a setting.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "mixstream/refinement/em.hpp"
#include "mixstream/refinement/refine.hpp"
#include "mixstream/refinement/standard_errors.hpp"
#include "streams.hpp"

namespace {

using namespace mixstream;
using namespace studies;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double root_mean_square(const std::vector<double>& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0) /
                   static_cast<double>(values.size()));
}

struct Summary {
  std::vector<double> ratios, errors, yardsticks, j, expected, p, seconds, scaled;
  int failures = 0, accepted_failures = 0, rejected = 0, fallbacks = 0;
};

void run_seed(const Setting& setting, std::size_t rows, std::uint64_t seed, bool yardstick, bool verbose,
              Summary& summary) {
  const Drawn drawn = draw(setting, rows, seed);
  const Kept kept = keep(drawn);
  const auto start = std::chrono::steady_clock::now();
  const auto outcome =
      refine(kept.tensor, kept.sample, setting.k, {}, {.noise = setting.noise(), .seed = seed + 1});
  summary.seconds.push_back(seconds_since(start));
  if (!outcome) {
    fmt::print("{} seed {}: refused, {}\n", setting.name, seed, outcome.refusal().text);
    ++summary.failures;
    return;
  }
  const RefinedFit& fit = outcome.value();
  const double error = law_error(drawn.truth, to_raw(fit.mixture, drawn.layout, kept.pilot));
  const double mle =
      yardstick ? law_error(
                      drawn.truth,
                      fit_em(drawn.rows, drawn.truth,
                             {.noise = setting.noise(), .max_iterations = 200, .stop_below_gain = 1e-8})
                          .mixture)
                : 1.0;
  const MixtureErrors predicted =
      raw_mixture_errors(fit.mixture, fit.noise, covariance_from(fit.information), drawn.layout, kept.pilot);
  summary.scaled.push_back(error / (root_mean_square(predicted.coefficients) *
                                    std::sqrt(static_cast<double>(predicted.coefficients.size()))));
  summary.ratios.push_back(error / mle);
  summary.errors.push_back(error);
  summary.yardsticks.push_back(mle);
  summary.j.push_back(fit.distance / static_cast<double>(fit.dof));
  summary.expected.push_back(fit.expected_ratio);
  summary.p.push_back(fit.p_value);
  summary.failures += error > 0.3;
  summary.accepted_failures += error > 0.3 && fit.accepted;
  summary.rejected += !fit.accepted;
  summary.fallbacks += fit.conditions.starts_with("q<=3");
  if (verbose || !fit.accepted) {
    fmt::print(
        "  seed {} error {:.4f} = {:.2f} se, ratio {:.2f} J/dof {:.2f} ({} dof, expected {:.2f}) p {:.3f} "
        "deviance {:.1f} "
        "{} {} start {} iterations {} {:.1f} ms\n",
        seed, error, summary.scaled.back(), error / mle, summary.j.back(), fit.dof, fit.expected_ratio,
        fit.p_value, fit.deviance, fit.accepted ? "accepted" : "rejected: " + fit.complaints.text(),
        fit.conditions, fit.starts_tried, fit.iterations, 1e3 * summary.seconds.back());
  }
}

/// Kolmogorov's distance of p-values to uniform, and its own p-value.
std::pair<double, double> uniformity(std::vector<double> p) {
  std::ranges::sort(p);
  const double n = static_cast<double>(p.size());
  double distance = 0.0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    distance = std::max({distance, p[i] - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - p[i]});
  }
  const double t = (std::sqrt(n) + 0.12 + 0.11 / std::sqrt(n)) * distance;
  double tail = 0.0;
  for (int j = 1; j <= 100; ++j) tail += (j % 2 == 1 ? 2.0 : -2.0) * std::exp(-2.0 * j * j * t * t);
  return {distance, std::clamp(tail, 0.0, 1.0)};
}

void print_line(const Setting& setting, const Summary& s, bool yardstick) {
  fmt::print("{:12s}", setting.name);
  if (yardstick) {
    fmt::print(" error/MLE median {:.2f} rms {:.2f} max {:.2f}", median(s.ratios),
               root_mean_square(s.errors) / root_mean_square(s.yardsticks), std::ranges::max(s.ratios));
  }
  const auto [distance, p] = uniformity(s.p);
  std::vector<double> sorted = s.p;
  std::ranges::sort(sorted);
  fmt::print(" mean J/dof {:.3f}/{:.3f}",
             std::accumulate(s.j.begin(), s.j.end(), 0.0) / static_cast<double>(s.j.size()),
             0.5 + 0.5 * std::accumulate(s.expected.begin(), s.expected.end(), 0.0) /
                       static_cast<double>(s.j.size()));
  fmt::print(" least p {:.1e} {:.1e} {:.1e};", sorted[0], sorted[std::min<std::size_t>(1, sorted.size() - 1)],
             sorted[std::min<std::size_t>(3, sorted.size() - 1)]);
  fmt::print(
      " failures {} (accepted {}) rejected {}/{} q<=3 {} J/dof median {:.2f} max {:.2f} expected {:.2f} "
      "error/se rms {:.2f} KS "
      "{:.3f} "
      "p {:.3f} ms {:.1f}\n",
      s.failures, s.accepted_failures, s.rejected, s.p.size(), s.fallbacks, median(s.j),
      std::ranges::max(s.j), median(s.expected), root_mean_square(s.scaled), distance, p,
      1e3 * median(s.seconds));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string study = argc > 1 ? argv[1] : "accuracy";
  const std::size_t rows = argc > 2 ? std::stoul(argv[2]) : 50000;
  const std::uint64_t seeds = argc > 3 ? std::stoul(argv[3]) : 3;
  const std::string wanted = argc > 4 ? argv[4] : "";
  const std::uint64_t first = argc > 5 ? std::stoul(argv[5]) : 70000;
  const bool verbose = argc > 6;
  for (const Setting& setting : table_settings()) {
    if (!wanted.empty() && setting.name.find(wanted) == std::string::npos) continue;
    Summary summary;
    for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
      run_seed(setting, rows, seed, study == "accuracy", verbose, summary);
    }
    print_line(setting, summary, study == "accuracy");
  }
}
