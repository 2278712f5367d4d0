// What the product is worth: one pass of the real estimator, noise unknown, against the full-data maximum
// likelihood estimate (EM from the truth on all rows). One line a setting; a failure is a coefficient error
// above 0.3.
//   accuracy [ROWS [SEEDS [SETTING [FIRST_SEED]]]]
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "experiments/pass.hpp"
#include "experiments/statistics.hpp"
#include "mixstream/likelihood/em.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/solving/solve.hpp"
#include "words.hpp"

namespace {

using namespace mixstream;
using namespace experiments;

struct Outcomes {
  std::vector<double> yardstick, refined, polished, j_per_dof, solve_seconds;  // errors, not ratios
  int failures = 0, failures_called_ok = 0, rejected = 0, not_polished = 0;
};

void run(const Setting& setting, std::size_t rows, std::uint64_t seed, Outcomes& outcomes) {
  const Drawn drawn = draw(setting, rows, seed);
  Estimator estimator = estimator_for(setting, drawn.layout, seed);
  absorb_all(estimator, drawn.rows);
  const Report report = estimator.fit();
  const Solution plain = solve(estimator.state(), estimator.settings().solve);
  const double error = law_error(drawn.truth, report.mixture());
  outcomes.yardstick.push_back(
      law_error(drawn.truth, fit_em(drawn.rows, drawn.truth, {.noise = setting.noise()}).mixture));
  outcomes.refined.push_back(law_error(drawn.truth, plain.report.mixture()));
  outcomes.polished.push_back(error);
  outcomes.j_per_dof.push_back(report.moment_test->value / static_cast<double>(report.moment_test->dof));
  outcomes.solve_seconds.push_back(plain.report.solve_seconds);
  outcomes.failures += error > 0.3;
  outcomes.failures_called_ok += error > 0.3 && report.status == FitStatus::ok;
  outcomes.rejected += report.status != FitStatus::ok;
  outcomes.not_polished += report.stage != FitStage::polished;
}

std::string ratios(const std::vector<double>& errors, const std::vector<double>& yardstick) {
  std::vector<double> ratio;
  for (std::size_t i = 0; i < errors.size(); ++i) ratio.push_back(errors[i] / yardstick[i]);
  return fmt::format("{:.2f} | {:.2f} | {:.2f}", median(ratio),
                     root_mean_square(errors) / root_mean_square(yardstick),
                     *std::ranges::max_element(ratio));
}

}  // namespace

int main(int count, char** words) {
  const auto [rows, seeds, only, first_seed] = StudyWords(count, words, "", 70000);
  fmt::print("{} rows, {} seeds from {}\n\n", rows, seeds, first_seed);
  fmt::print(
      "| setting | features | MLE, rms | refined / MLE, median | refined, rms | refined, largest "
      "| polished / MLE, median | polished, rms | polished, largest "
      "| failures | failures called ok | rejected | not polished | solve, ms |\n|{}\n",
      "---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
  int wrong = 0;
  for (const Setting& setting : table_settings()) {
    if (!only.empty() && setting.name != only) continue;
    Outcomes outcomes;
    for (std::size_t s = 0; s < seeds; ++s) run(setting, rows, first_seed + s, outcomes);
    fmt::print("| {} | {} | {:.4f} | {} | {} | {} | {} | {} | {} | {:.1f} |\n", setting.name, setting.map,
               root_mean_square(outcomes.yardstick), ratios(outcomes.refined, outcomes.yardstick),
               ratios(outcomes.polished, outcomes.yardstick), outcomes.failures, outcomes.failures_called_ok,
               outcomes.rejected, outcomes.not_polished, 1e3 * median(outcomes.solve_seconds));
    std::fflush(stdout);
    wrong += outcomes.failures_called_ok;
  }
  return wrong == 0 ? 0 : 1;
}
