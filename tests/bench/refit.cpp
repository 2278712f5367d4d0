// Benchmark refit: the time of one re-solve from settled moments, stage by stage. One JSON object a line.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <optional>
#include <vector>

#include "mixstream/core/random.hpp"
#include "mixstream/rows/simulation.hpp"
#include "mixstream/tensor/spectral.hpp"
#include "support/moments.hpp"

using namespace mixstream;

namespace {

/// Moments of simulated rows: a constant and standard normal columns.
MomentTensor simulated(int d, int k, std::size_t rows) {
  std::vector<std::string> columns;
  for (int i = 1; i < d; ++i) columns.push_back("c" + std::to_string(i));
  SimulationSettings settings{FeatureMap::plain(columns).value(), static_cast<std::size_t>(k)};
  settings.normal_columns = true;
  settings.seed = 5;
  Simulation simulation(settings);
  const Layout layout{d, settings.map.constant_feature()};
  MomentTensor tensor(layout, Pilot::identity(layout.variables()));
  for (std::size_t i = 0; i < rows; ++i) testing::add_row(tensor, simulation.next());
  tensor.effective_rows = static_cast<double>(rows);
  return tensor;
}

/// Processor seconds of this thread: a busy machine does not count.
double thread_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Median seconds of a call.
template <class Call>
double median_seconds(int repeats, Call call) {
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const double begin = thread_seconds();
    call();
    seconds.push_back(thread_seconds() - begin);
  }
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

void report(const char* stage, int d, int k, double cold, double warm, double goal) {
  fmt::print(
      "{{\"benchmark\":\"refit\",\"stage\":\"{}\",\"d\":{},\"k\":{},\"cold_ms\":{:.3f},\"warm_ms\":{:.3f},"
      "\"goal_ms\":{:g},\"cold_to_goal\":{:.3f}}}\n",
      stage, d, k, 1e3 * cold, 1e3 * warm, 1e3 * goal, cold / goal);
  std::fflush(stdout);
}

void bench_spectral(int d, int k, std::size_t rows, double goal) {
  const MomentTensor tensor = simulated(d, k, rows);
  SpectralWorkspace workspace;
  SpectralSettings settings;
  const int repeats = d > 8 ? 3 : 101;
  const SpectralFit start = rank_start(tensor, k, settings, workspace).value();
  report("rank_start", d, k,
         median_seconds(repeats, [&] { (void)rank_start(tensor, k, settings, workspace); }),
         median_seconds(repeats, [&] { (void)rank_start(tensor, k, settings, workspace, &start); }), goal);
  settings.noise_variance = 0.1;
  const std::optional<PaperStart> last = paper_estimate(tensor, k, settings, workspace).value().paper_start();
  report(
      "paper", d, k, median_seconds(repeats, [&] { (void)paper_estimate(tensor, k, settings, workspace); }),
      median_seconds(repeats, [&] { (void)paper_estimate(tensor, k, settings, workspace, &*last); }), goal);
}

}  // namespace

int main() {
  bench_spectral(4, 3, 100000, 1e-3);
  bench_spectral(8, 4, 20000, 10e-3);
  bench_spectral(16, 5, 4000, 1.0);
}
