// The paper's two tables, Spectral column: n rows, fresh seeds, our start (noise known and unknown) and the
// paper's own method, beside the published figures. Usage: study-spectral [rows] [seeds] [setting]
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
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
  double published;  // the paper's Spectral column; 0: not in its tables
};

constexpr const char* b1d4 = "1,t,t^4,t^7";
constexpr const char* b2d4 = "1,u,v,u^2*v^2";
constexpr const char* b2d5 = "1,u,v,u^2*v^2,u^5";
constexpr const char* b2d6 = "1,u,v,u*v^3,u^2*v^2,u^3*v";
constexpr const char* b2d8 = "1,u,v,u*v^3,u^2*v^2,u^3*v,u^3*v^4,u^4*v^3";
const Setting settings[] = {
    {"(1,4,2)", b1d4, 2, false, 2.45},   {"(2,5,2)", b2d5, 2, false, 1.38},
    {"(2,5,3)", b2d5, 3, false, 2.92},   {"(2,6,2)", b2d6, 2, false, 2.33},
    {"(1,4,2)cut", b1d4, 2, true, 1.70}, {"(2,5,3)cut", b2d5, 3, true, 1.37},
    {"(2,6,5)cut", b2d6, 5, true, 9.89}, {"(2,8,7)cut", b2d8, 7, true, 23.07},
    {"(1,4,3)", b1d4, 3, false, 0.0},    {"(2,4,3)", b2d4, 3, false, 0.0},
};

/// Errors of one estimator over the seeds. Refusals have no error and are counted apart.
struct Tally {
  std::vector<double> errors;
  int refused = 0;

  void add(const Mixture& truth, const Outcome<SpectralFit>& outcome) {
    if (outcome) {
      errors.push_back(testing::coefficient_error(truth, outcome.value().mixture));
    } else {
      ++refused;
    }
  }
  double median() const {
    if (errors.empty()) return std::numeric_limits<double>::infinity();
    std::vector<double> sorted = errors;
    std::ranges::sort(sorted);
    return 0.5 * (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]);
  }
  std::string text() const {
    if (errors.empty()) return fmt::format("{:>9} {:>9} {:>4} {:>4}", "-", "-", "-", refused);
    const double mean =
        std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
    const auto far = std::ranges::count_if(errors, [](double error) { return error > 0.3; });
    return fmt::format("{:9.4f} {:9.4f} {:4} {:4}", median(), mean, far, refused);
  }
};

/// Runs one setting; true when the start with known noise beats the paper's published figure in the median.
bool run(const Setting& setting, std::size_t rows, std::uint64_t seeds) {
  Tally known;
  Tally unknown;
  Tally paper;
  SpectralWorkspace workspace;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    SimulationSettings choice{FeatureMap::parse(setting.map).value(), setting.components};
    choice.cut = setting.cut;
    choice.seed = 910000 + seed;
    Simulation simulation(choice);
    const Layout layout{static_cast<int>(choice.map.feature_count()), choice.map.constant_feature()};
    MomentTensor tensor(layout, Pilot::identity(layout.variables()));
    for (std::size_t i = 0; i < rows; ++i) testing::add_row(tensor, simulation.next());
    tensor.effective_rows = static_cast<double>(rows);
    SpectralSettings given;
    given.noise_variance = 0.1;
    given.allow_singular = true;
    const int k = static_cast<int>(setting.components);
    known.add(simulation.truth(), rank_start(tensor, k, given, workspace));
    unknown.add(simulation.truth(), rank_start(tensor, k, {}, workspace));
    paper.add(simulation.truth(), paper_estimate(tensor, k, given, workspace));
  }
  const std::string published = setting.published > 0.0 ? fmt::format("{:.2f}", setting.published) : "-";
  fmt::print("{:<11} {:>6} | {} | {} | {}\n", setting.name, published, known.text(), unknown.text(),
             paper.text());
  std::fflush(stdout);
  return setting.published == 0.0 || known.median() < setting.published;
}

}  // namespace

// Ends with 1 unless every median of the start with known noise is below the paper's figure.
int main(int count, char** arguments) {
  const std::size_t rows = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 500000;
  const std::uint64_t seeds = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 20;
  fmt::print("|B* - B|_F, {} rows, {} seeds; far: error > 0.3; ref: refused\n", rows, seeds);
  fmt::print("{:<11} {:>6} | {:<29} | {:<29} | {}\n", "", "paper:", "rank start, noise known",
             "rank start, noise unknown", "paper's method, noise known, singular allowed");
  fmt::print("{:<11} {:>6}", "(b,d,k)", "Spectr");
  for (int column = 0; column < 3; ++column)
    fmt::print(" | {:>9} {:>9} {:>4} {:>4}", "median", "mean", "far", "ref");
  fmt::print("\n");
  bool all_better = true;
  for (const Setting& setting : settings) {
    if (count > 3 && std::string(arguments[3]) != setting.name) continue;
    all_better &= run(setting, rows, seeds);
  }
  return all_better ? 0 : 1;
}
