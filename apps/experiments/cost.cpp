#include "experiments/cost.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "experiments/pass.hpp"
#include "experiments/statistics.hpp"
#include "experiments/stopwatch.hpp"
#include "experiments/summary.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/solving/solve.hpp"

namespace experiments {
namespace {

/// 1,a,b,c,...: uniform columns behind a constant.
Setting plain_setting(std::size_t d, std::size_t k) {
  Setting setting;
  setting.map = "1";
  for (std::size_t i = 1; i < d; ++i) setting.map += fmt::format(",x{}", i);
  setting.k = k;
  return setting;
}

struct Cost {
  double absorb = 0.0;  // seconds a row: moments and polish, without fits
  double fits = 0.0;    // seconds of all scheduled fits
  double solve = 0.0;   // seconds of one solve from the state, without a last fit to start from
  double pass = 0.0;    // seconds of everything
};

Cost cost_of(const Setting& setting, std::size_t rows, std::uint64_t seed) {
  const Drawn drawn = draw(setting, rows, seed);
  Estimator estimator = estimator_for(setting, drawn.layout, seed);
  Cost cost;
  const Stopwatch whole;
  for (std::size_t i = 0; i < rows; ++i) {
    estimator.absorb(drawn.rows.row(i));
    if (!estimator.fit_is_due()) continue;
    const Stopwatch fit;
    estimator.scheduled_fit();
    cost.fits += fit.processor_seconds();
  }
  const double until_end = whole.processor_seconds();
  estimator.fit();
  cost.pass = whole.processor_seconds();
  cost.absorb = (until_end - cost.fits) / static_cast<double>(rows);
  const Stopwatch solving;
  solve(estimator.state(), estimator.settings().solve);
  cost.solve = solving.processor_seconds();
  return cost;
}

std::uint64_t state_bytes(std::size_t d, std::size_t k) {
  EstimatorSettings settings;
  settings.state.layout = {static_cast<int>(d), 0};
  settings.solve.component_count = k;
  return bytes_needed(sized_state(settings)).value();
}

/// The sizes of one sweep, its costs and their exponents.
struct Sweep {
  std::string name;
  std::vector<std::array<std::size_t, 3>> points;  // d, k, n
  std::size_t varied = 0;                          // which of the three
};

Json run_sweep(Context& context, const Sweep& sweep, std::vector<std::vector<std::string>>& lines) {
  std::vector<double> sizes, absorb, solved, pass, bytes;
  for (const auto& [d, k, n] : sweep.points) {
    const Json cell =
        finished(context, fmt::format("cost d={} k={} n={}", d, k, n), [&, d = d, k = k, n = n] {
          const Cost cost = cost_of(plain_setting(d, k), n, context.seed);
          return Json{
              {"absorb", cost.absorb}, {"fits", cost.fits}, {"solve", cost.solve}, {"pass", cost.pass}};
        });
    sizes.push_back(std::log(static_cast<double>(std::array{d, k, n}[sweep.varied])));
    absorb.push_back(std::log(cell["absorb"].get<double>()));
    solved.push_back(std::log(cell["solve"].get<double>()));
    pass.push_back(std::log(cell["pass"].get<double>()));
    bytes.push_back(std::log(static_cast<double>(state_bytes(d, k))));
    lines.push_back({fmt::format("{}", d), fmt::format("{}", k), fmt::format("{}", n),
                     fmt::format("{:.0f}", 1e9 * cell["absorb"].get<double>()),
                     fmt::format("{:.3g}", 1e3 * cell["solve"].get<double>()),
                     fmt::format("{:.3g}", cell["pass"].get<double>()),
                     fmt::format("{:.2f}", static_cast<double>(state_bytes(d, k)) / 1e6)});
  }
  return {{"name", sweep.name},
          {"absorb", slope(sizes, absorb)},
          {"solve", slope(sizes, solved)},
          {"pass", slope(sizes, pass)},
          {"bytes", slope(sizes, bytes)}};
}

}  // namespace

Json run_cost(Context& context) {
  const std::size_t n = context.quick ? 5000 : 200000;
  std::vector<Sweep> sweeps{{"d", {{3, 2, n}, {4, 2, n}, {6, 2, n}, {8, 2, n}}, 0},
                            {"k", {{6, 2, n}, {6, 3, n}, {6, 4, n}, {6, 5, n}}, 1},
                            {"n", {{4, 2, 10000}, {4, 2, 100000}, {4, 2, 1000000}}, 2}};
  if (context.quick) {
    sweeps = {{"d", {{3, 2, n}, {4, 2, n}}, 0}, {"n", {{4, 2, 5000}, {4, 2, 10000}}, 2}};
  } else {
    sweeps[0].points.push_back({12, 2, n});
    sweeps[0].points.push_back({16, 2, n});
  }
  Json result{{"title", "Cost"}, {"exponents", Json::array()}, {"broken", Json::array()}};
  std::vector<std::vector<std::string>> lines;
  std::vector<std::vector<std::string>> exponents;
  for (const Sweep& sweep : sweeps) {
    const Json found = run_sweep(context, sweep, lines);
    exponents.push_back({sweep.name});
    for (const char* field : {"absorb", "solve", "pass", "bytes"})
      exponents.back().push_back(fmt::format("{:.2f}", found[field].get<double>()));
    result["exponents"].push_back(found);
  }
  fmt::print("\nCost of one thread: features 1, x1, x2, ... uniform, seed {}.\n{}", context.seed,
             markdown({"d", "k", "n", "ns a row, moments and polish", "ms a solve", "s a pass, fits included",
                       "MB of state and two copies"},
                      lines));
  fmt::print("\nExponents of power laws through these:\n{}",
             markdown({"against", "a row", "a solve", "a pass", "bytes"}, exponents));
  return result;
}

}  // namespace experiments
