// One objective for moments and likelihood, tried: Q = J of the rows that are not held - 2 log-likelihood of
// those that are, to second order about the held rows' optimum. Errors of laws beside those of J of all rows,
// of EM on the held rows, and of today's answer before its polish; all from the held rows' optimum, which EM
// finds from the truth: what is compared is the objective, not the search. Each as a ratio to the maximum
// likelihood estimate of all rows; "tails" adds noise of Student's t with three degrees of freedom.
//   objective [ROWS [SEEDS [SETTING [FIRST_SEED]]]]
#include <fmt/core.h>

#include <cmath>
#include <random>
#include <vector>

#include "experiments/statistics.hpp"
#include "experiments/streams.hpp"
#include "mixstream/likelihood/em.hpp"
#include "mixstream/refinement/fit_conditions.hpp"
#include "mixstream/refinement/refine.hpp"
#include "support/kept.hpp"
#include "words.hpp"

namespace {

using namespace mixstream;
using namespace experiments;

constexpr std::size_t held_rows = 5000;

struct Errors {
  std::vector<double> moments, objective, held, answer;  // over the yardstick's
  int lost = 0;                                          // streams in which one of them led nowhere
};

Drawn with_tails(Drawn drawn, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::student_t_distribution<double> noise(3.0);
  for (double& response : drawn.rows.responses) response += 0.3 * noise(random);
  return drawn;
}

/// The rows that keep() does not hold.
RowTable others(const RowTable& rows) {
  const std::size_t stride = rows.size() / held_rows;
  RowTable rest{rows.feature_count, {}, {}, {}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % stride != 0 || i / stride >= held_rows) rest.add(rows.row(i));
  }
  return rest;
}

void run(const Setting& setting, const Drawn& drawn, Errors& errors) {
  const NoiseModel noise = setting.noise();
  const Kept kept = keep(drawn, held_rows);
  const MomentTensor rest = moments_of(others(drawn.rows), drawn.layout, kept.pilot);
  const Mixture truth = to_pilot(drawn.truth, drawn.layout, kept.pilot);
  const Mixture optimum = fit_em(kept.sample, truth, {.noise = noise}).mixture;
  const auto known = sample_prior(optimum, kept.sample, noise);
  const ConditionSet set = choose_conditions(drawn.layout, RefineSettings{}.largest_condition_count);
  const auto moments = fit_conditions(Conditions(kept.tensor, kept.sample, set), optimum, {.noise = noise});
  const auto objective =
      known ? fit_conditions(Conditions(rest, kept.sample, set), optimum, {.noise = noise, .prior = &*known})
            : moments;
  const auto answer = refine(kept.tensor, kept.sample, setting.k, {&optimum, 1}, {.noise = noise});
  if (!moments || !objective || !answer) {
    ++errors.lost;
    return;
  }
  const auto error = [&](const Mixture& laws) {
    return law_error(drawn.truth, to_raw(laws, drawn.layout, kept.pilot));
  };
  const double best = law_error(drawn.truth, fit_em(drawn.rows, drawn.truth, {.noise = noise}).mixture);
  errors.moments.push_back(error(moments.value().mixture) / best);
  errors.objective.push_back(error(objective.value().mixture) / best);
  errors.held.push_back(error(optimum) / best);
  errors.answer.push_back(error(answer.value().mixture) / best);
}

}  // namespace

int main(int count, char** words) {
  const auto [rows, seeds, only, first_seed] = StudyWords(count, words, "", 160000);
  fmt::print("{} rows, {} of them held, {} seeds from {}: error / MLE, median (largest)\n\n", rows, held_rows,
             seeds, first_seed);
  fmt::print("| setting | J of all rows | Q | EM on the held rows | today's answer, not polished | lost |\n");
  fmt::print("|---|---|---|---|---|---|\n");
  for (const Setting& setting : table_settings()) {
    if (setting.name.find(only) == std::string::npos) continue;
    for (const bool tails : {false, true}) {
      Errors errors;
      for (std::size_t s = 0; s < seeds; ++s) {
        const Drawn drawn = draw(setting, rows, first_seed + s);
        run(setting, tails ? with_tails(drawn, first_seed + s) : drawn, errors);
      }
      fmt::print("| {}{} |", setting.name, tails ? ", tails" : "");
      for (const auto* list : {&errors.moments, &errors.objective, &errors.held, &errors.answer}) {
        if (list->empty()) fmt::print(" |");
        if (!list->empty()) fmt::print(" {:.2f} ({:.2f}) |", median(*list), *std::ranges::max_element(*list));
      }
      fmt::print(" {} |\n", errors.lost);
      std::fflush(stdout);
    }
  }
  return 0;
}
