// Periodic re-solves of the regularised regressions of a growing stream: warm against cold, 100 of each on
// the same moments. One JSON object a line.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "mixstream/moments/state.hpp"
#include "mixstream/rows/simulation.hpp"
#include "mixstream/tensor/spectral.hpp"

using namespace mixstream;

namespace {

constexpr int solves = 100;
constexpr std::size_t rows_between = 5000;

struct Totals {
  long iterations = 0;
  double seconds = 0.0;
  double residual = 0.0;  // the largest
  int not_converged = 0;
};

SpectralFit timed(const MomentTensor& tensor, std::size_t k, const SpectralSettings& settings,
                  SpectralWorkspace& workspace, const PaperStart* warm, Totals& totals) {
  const auto began = std::chrono::steady_clock::now();
  SpectralFit fit = paper_estimate(tensor, static_cast<int>(k), settings, workspace, warm).value();
  totals.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  for (const NuclearFit* regression : {&*fit.second, &*fit.third}) {
    totals.iterations += regression->iterations;
    totals.residual = std::max({totals.residual, regression->primal_residual, regression->dual_residual});
    totals.not_converged += !regression->converged;
  }
  return fit;
}

/// Iterations saved; nothing where the two end apart.
std::optional<long> bench(const std::string& map, std::size_t k, PaperObjective objective) {
  SimulationSettings stream;
  stream.map = FeatureMap::parse(map).value();
  stream.component_count = k;
  stream.seed = 11;
  Simulation simulation(stream);
  const Layout layout{static_cast<int>(stream.map.feature_count()), stream.map.constant_feature()};
  MomentState state = MomentState::create({.layout = layout}).value();
  SpectralSettings settings;
  settings.noise_variance = 0.1;
  settings.allow_singular = true;
  settings.objective = objective;
  SpectralWorkspace workspace;
  Totals warm, cold;
  std::optional<PaperStart> start;
  double apart = 0.0;  // of the warm objective from the cold one, relative
  for (int solve = 0; solve < solves; ++solve) {
    for (std::size_t i = 0; i < rows_between; ++i) state.absorb(simulation.next());
    const MomentTensor tensor = state.moments();
    const SpectralFit afresh = timed(tensor, k, settings, workspace, nullptr, cold);
    const SpectralFit onward = timed(tensor, k, settings, workspace, start ? &*start : nullptr, warm);
    start = onward.paper_start();
    apart = std::max(apart, std::abs(onward.third->objective / afresh.third->objective - 1.0));
  }
  const char* name = objective == PaperObjective::published ? "published" : "printed";
  fmt::print(
      "{{\"bench\":\"paper\",\"map\":\"{}\",\"k\":{},\"objective\":\"{}\",\"solves\":{},"
      "\"cold_iterations\":{},\"warm_iterations\":{},\"cold_ms\":{:.2f},\"warm_ms\":{:.2f},"
      "\"time_ratio\":{:.2f},\"largest_residual\":{:.1e},\"not_converged\":{},\"objectives_apart\":{:.1e}}}"
      "\n",
      map, k, name, solves, cold.iterations, warm.iterations, 1e3 * cold.seconds / solves,
      1e3 * warm.seconds / solves, warm.seconds / cold.seconds, warm.residual,
      warm.not_converged + cold.not_converged, apart);
  if (!(apart < 1e-6)) return {};
  return cold.iterations - warm.iterations;
}

}  // namespace

int main() {
  long saved = 0;
  bool same = true;
  for (const PaperObjective objective : {PaperObjective::printed, PaperObjective::published}) {
    for (const auto& [map, k] : {std::pair<const char*, std::size_t>{"1,t,t^4", 2},
                                 {"1,u,v,u^2*v^2", 3},
                                 {"1,u,v,u*v^3,u^2*v^2,u^3*v", 2}}) {
      const std::optional<long> of_case = bench(map, k, objective);
      same = same && of_case;
      saved += of_case.value_or(0);
    }
  }
  return same && saved > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
