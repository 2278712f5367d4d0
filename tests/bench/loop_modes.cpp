// The sensor loop with modes that persist: latency of a row beside that of independent rows, allocations, and
// slices of a refit with rows between them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "loop_rows.hpp"
#include "measure.hpp"
#include "mixstream/rows/simulation.hpp"
#include "support/allocation_count.hpp"

using namespace mixstream;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t before = 30000;  // rows, until the polish is under way
constexpr std::size_t timed = 200000;
constexpr auto budget = std::chrono::milliseconds(1);

double nanoseconds(Clock::duration time) {
  return std::chrono::duration<double, std::nano>(time).count();
}

struct Stream {
  RowTable rows;

  Stream(std::size_t d, std::size_t k) {
    std::string map = "1";
    for (std::size_t j = 1; j < d; ++j) map += fmt::format(",t{}", j);
    SimulationSettings settings;
    settings.map = FeatureMap::parse(map).value();
    settings.component_count = k;
    settings.noise_variances = {0.09};
    settings.stay = 0.99;
    settings.seed = 100 * d + k;
    rows = Simulation(settings).table(before + timed);
  }
};

SensorLoop begun(const Stream& stream, std::size_t d, std::size_t k, Modes modes) {
  LoopSettings settings = loop_settings(d, true);
  settings.estimator.solve.component_count = k;
  settings.estimator.solve.modes = modes;
  SensorLoop loop = SensorLoop::create(settings).value();
  for (std::size_t i = 0; i < before; ++i) {
    loop.absorb(stream.rows.row(i));
    loop.refit();
  }
  return loop;
}

struct Times {
  std::vector<double> rows;     // ns
  std::vector<double> slices;   // of the budget
  std::size_t allocations = 0;  // of rows
};

double at_share(std::vector<double>& times, double share) {
  std::ranges::sort(times);
  return times.empty() ? 0.0 : times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
}

/// Every row by the clock, a slice of a refit after every `rows_between`, none: 0.
Times times_of(SensorLoop& loop, const Stream& stream, std::size_t rows_between) {
  Times times;
  times.rows.reserve(timed);
  times.slices.reserve(timed);
  double clock_cost = 1e300;
  for (int i = 0; i < 1000; ++i) {
    const auto begin = Clock::now();
    clock_cost = std::min(clock_cost, nanoseconds(Clock::now() - begin));
  }
  for (std::size_t i = 0; i < timed; ++i) {
    const Row row = stream.rows.row(before + i);
    const std::size_t allocated = allocation_count();
    const auto begin = Clock::now();
    loop.absorb(row);
    const auto end = Clock::now();
    times.allocations += allocation_count() - allocated;
    times.rows.push_back(std::max(0.0, nanoseconds(end - begin) - clock_cost));
    if (rows_between == 0 || i % rows_between != 0) continue;
    if (!loop.refit_is_under_way()) loop.request_refit();
    const auto begun_at = Clock::now();
    loop.refit_step(budget);
    const double share = nanoseconds(Clock::now() - begun_at) / nanoseconds(budget);
    if (loop.refit_is_under_way()) times.slices.push_back(share);
  }
  return times;
}

}  // namespace

void bench_modes(LoopOutput output) {
  const bool table = output == LoopOutput::table;
  if (table)
    fmt::print(
        "| d | k | rows | p50, ns | p99 | p99.9 | worst | p99.9 to independent | allocations | slices: "
        "median of the budget | p99 |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& [d, k] : {std::pair<std::size_t, std::size_t>{4, 3}, {8, 4}}) {
    const Stream stream(d, k);
    double independent = 0.0;
    for (const auto& [modes, rows_between, what] :
         {std::tuple{Modes::independent, std::size_t{0}, "independent"},
          std::tuple{Modes::persistent, std::size_t{0}, "persistent"},
          std::tuple{Modes::persistent, std::size_t{100}, "persistent, a slice of a refit every 100 rows"}}) {
      SensorLoop loop = begun(stream, d, k, modes);
      Times times = times_of(loop, stream, rows_between);
      const double p999 = at_share(times.rows, 0.999);
      if (modes == Modes::independent) independent = p999;
      fmt::print(
          fmt::runtime(table
                           ? "| {} | {} | {} | {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.2f} | {} | {:.2f} | "
                             "{:.2f} |\n"
                           : "{{\"bench\":\"loop_modes\",\"d\":{},\"k\":{},\"what\":\"{}\",\"p50_ns\":{:.0f},"
                             "\"p99_ns\":{:.0f},\"p999_ns\":{:.0f},\"worst_ns\":{:.0f},"
                             "\"p999_to_independent\":{:.2f},\"allocations\":{},\"slice_median_of_budget\":"
                             "{:.3f},\"slice_p99_of_budget\":{:.3f}}}\n"),
          d, k, what, at_share(times.rows, 0.5), at_share(times.rows, 0.99), p999, at_share(times.rows, 1.0),
          p999 / independent, times.allocations, at_share(times.slices, 0.5), at_share(times.slices, 0.99));
      std::fflush(stdout);
    }
  }
}
