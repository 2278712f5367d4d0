// The paper's two tables, Spectral column: n rows, fresh seeds, our start (noise known and unknown) and the
// paper's own method, beside the published figures. Usage: study-spectral [rows] [seeds] [setting]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <string>

#include "mixstream/rows/simulation.hpp"
#include "mixstream/tensor/spectral.hpp"
#include "support/moments.hpp"

using namespace mixstream;

namespace {

struct Setting {
  const char* name;
  const char* map;
  std::size_t components;
  bool cut;
  double published;  // the paper's Spectral column
};

constexpr const char* b1d4 = "1,t,t^4,t^7";
constexpr const char* b2d5 = "1,u,v,u^2*v^2,u^5";
constexpr const char* b2d6 = "1,u,v,u*v^3,u^2*v^2,u^3*v";
constexpr const char* b2d8 = "1,u,v,u*v^3,u^2*v^2,u^3*v,u^3*v^4,u^4*v^3";
const Setting settings[] = {
    {"(1,4,2)", b1d4, 2, false, 2.45},    {"(2,5,2)", b2d5, 2, false, 1.38},
    {"(2,5,3)", b2d5, 3, false, 2.92},    {"(2,6,2)", b2d6, 2, false, 2.33},
    {"(1,4,2)cut", b1d4, 2, true, 1.70},  {"(2,5,3)cut", b2d5, 3, true, 1.37},
    {"(1,4,3)", b1d4, 3, false, 0},       {"(2,4,3)", "1,u,v,u^2*v^2", 3, false, 0},
    {"(2,6,5)", b2d6, 5, false, 0},       {"(2,6,5)cut", b2d6, 5, true, 9.89},
    {"(2,8,7)cut", b2d8, 7, true, 23.07},
};

/// Errors of one estimator over the seeds; a refusal counts as a failure without an error.
struct Tally {
  std::vector<double> errors;
  int refused = 0;
  double seconds = 0.0;

  template <class Estimate>
  void add(const Mixture& truth, Estimate estimate) {
    const auto begin = std::chrono::steady_clock::now();
    const Outcome<SpectralFit> outcome = estimate();
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (outcome) {
      errors.push_back(testing::coefficient_error(truth, outcome.value().mixture));
    } else {
      ++refused;
    }
  }
  std::string text() const {
    if (errors.empty()) return fmt::format("{:>8} {:>8} {:>5} {:>4}", "-", "-", "-", refused);
    std::vector<double> sorted = errors;
    std::ranges::sort(sorted);
    const std::size_t n = sorted.size();
    const double median = 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
    const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(n);
    const auto far = std::ranges::count_if(sorted, [](double error) { return error > 0.3; });
    return fmt::format("{:8.3f} {:8.3f} {:5} {:4}", median, mean, far, refused);
  }
};

void run(const Setting& setting, std::size_t rows, std::uint64_t seeds) {
  Tally known;
  Tally unknown;
  Tally paper;
  SpectralWorkspace workspace;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const FeatureMap map = FeatureMap::parse(setting.map).value();
    SimulationSettings choice{map, setting.components};
    choice.cut = setting.cut;
    choice.seed = 910000 + seed;
    Simulation simulation(choice);
    const Layout layout{static_cast<int>(map.feature_count()), map.constant_feature()};
    MomentTensor tensor(layout, Pilot::identity(layout.variables()));
    for (std::size_t i = 0; i < rows; ++i) testing::add_row(tensor, simulation.next());
    tensor.effective_rows = static_cast<double>(rows);
    SpectralSettings given;
    given.noise_variance = 0.1;
    if (std::getenv("STARTS")) given.regression_starts = std::atoi(std::getenv("STARTS"));
    SpectralSettings open = given;
    open.noise_variance.reset();
    const int k = static_cast<int>(setting.components);
    known.add(simulation.truth(), [&] { return rank_start(tensor, k, given, workspace); });
    unknown.add(simulation.truth(), [&] { return rank_start(tensor, k, open, workspace); });
    given.allow_singular = true;
    paper.add(simulation.truth(), [&] {
      auto fit = paper_estimate(tensor, k, given, workspace);
      if (fit && std::getenv("VERBOSE"))
        fmt::print("  it {} {} res {:.1e} {:.1e} {:.1e} {:.1e} warn {}\n", fit.value().second->iterations,
                   fit.value().third->iterations, fit.value().second->primal_residual,
                   fit.value().second->dual_residual, fit.value().third->primal_residual,
                   fit.value().third->dual_residual, fit.value().warnings.size());
      return fit;
    });
  }
  fmt::print("{:<11} {:6.2f} | {} | {} | {} {}\n", setting.name, setting.published, known.text(),
             unknown.text(), paper.text(), known.seconds / seeds * 1e3);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  const std::size_t rows = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 500000;
  const std::uint64_t seeds = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 20;
  for (const Setting& setting : settings) {
    if (count > 3 && std::string(arguments[3]) != setting.name) continue;
    run(setting, rows, seeds);
  }
}
