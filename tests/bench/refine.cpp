// What a re-solve costs: one accepted start, a warm re-solve, and a cold one, beside one EM iteration over
// the rows that it saves. One JSON object a line.
#include <fmt/core.h>

#include <cstdlib>
#include <limits>
#include <string>

#include "measure.hpp"
#include "mixstream/likelihood/em.hpp"
#include "mixstream/refinement/conditions.hpp"
#include "mixstream/refinement/examiner.hpp"
#include "mixstream/refinement/fit_conditions.hpp"
#include "mixstream/refinement/refine.hpp"
#include "support/kept.hpp"

namespace {

using namespace mixstream;

/// "1,a,b,c": a constant and plain columns.
experiments::Setting plain_setting(std::size_t d, std::size_t k) {
  std::string map = "1";
  for (std::size_t j = 1; j < d; ++j) map += ",x" + std::to_string(j);
  return {"plain", map, k};
}

void measure(std::size_t d, std::size_t k, std::size_t rows) {
  const experiments::Drawn drawn = experiments::draw(plain_setting(d, k), rows, 5);
  const experiments::Kept kept = experiments::keep(drawn);
  const Mixture truth = to_pilot(drawn.truth, drawn.layout, kept.pilot);
  const Mixture start = fit_em(kept.sample, truth, {.max_iterations = 100, .stop_below_gain = 1e-7}).mixture;
  const ConditionSet set = choose_conditions(drawn.layout, RefineSettings{}.largest_condition_count);
  const Conditions conditions(kept.tensor, kept.sample, set);
  const auto fitted = fit_conditions(conditions, start, {});
  if (!fitted) return;
  const Examiner examiner(kept.tensor, kept.sample);
  const double none = -std::numeric_limits<double>::infinity();
  const RefinedFit last = examiner.examined(fitted.value(), none);
  const auto one_start = [&] {
    const RefinedFit fit = examiner.examined(fit_conditions(conditions, start, {}).value(), none);
    bench::keep(&fit);
  };
  const auto build = [&] {
    const Conditions built(kept.tensor, kept.sample, set);
    bench::keep(&built);
  };
  const auto again = [&] {
    const auto fit = refine(kept.tensor, kept.sample, k, {}, {}, &last.mixture);
    bench::keep(&fit);
  };
  const auto cold = [&] {
    const auto fit = refine(kept.tensor, kept.sample, k, {}, {});
    bench::keep(&fit);
  };
  const RowBlocks blocks(drawn.rows);
  const auto iteration = [&] {
    const EmFit fit = fit_em(blocks, drawn.truth, {.max_iterations = 1});
    bench::keep(&fit);
  };
  const auto seconds = bench::best_seconds({one_start, build, again, cold, iteration}, 3);
  fmt::print(
      "{{\"bench\":\"refit\",\"d\":{},\"k\":{},\"conditions\":\"{}\",\"condition_count\":{},"
      "\"accepted\":{},\"iterations\":{},\"start_ms\":{:.3f},\"conditions_ms\":{:.3f},\"warm_resolve_ms\":{:."
      "3f},"
      "\"cold_resolve_ms\":{:.3f},\"em_iteration_ms\":{:.3f},\"rows\":{},\"start_per_em_iteration\":{:.3f}}}"
      "\n",
      d, k, last.conditions, last.condition_count, last.accepted, last.iterations, 1e3 * seconds[0],
      1e3 * seconds[1], 1e3 * seconds[2], 1e3 * seconds[3], 1e3 * seconds[4], rows, seconds[0] / seconds[4]);
  std::fflush(stdout);
}

}  // namespace

int main() {
  measure(4, 3, 200000);
  measure(8, 4, 200000);
  measure(16, 5, 100000);
}
