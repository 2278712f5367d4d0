// How many swaps of laws, and how long, EM on a sample needs until it is as likely as EM from the truth;
// beside it how far such a fit's laws err, and how many of 40 plain starts are as likely. As likely:
// within 2.5 nats of all rows.
//   swaps [ROWS [SEEDS [(b,d,k) [FIRST_SEED]]]]      ROWS: of a sample, such as 5000
#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "experiments/paper.hpp"
#include "experiments/statistics.hpp"
#include "experiments/stopwatch.hpp"
#include "mixstream/likelihood/em_search.hpp"
#include "mixstream/likelihood/law_swaps.hpp"
#include "words.hpp"

namespace {

using namespace mixstream;
using namespace experiments;

constexpr double as_likely = 2.5;  // nats
constexpr int plain_starts = 40;
constexpr int most_swaps = 500;

const EmSettings hundred_iterations{.max_iterations = 100, .stop_below_gain = 1e-7};

/// Swaps until the likelihood is enough, at most most_swaps; leaves the fit.
int swaps_until(double enough, LawSwaps& swaps, EmFit& fit) {
  int count = 0;
  for (; count < most_swaps && fit.mean_log_likelihood < enough; ++count)
    fit = swaps.improved(fit, 1, enough);
  return count;
}

}  // namespace

int main(int count, char** words) {
  const auto [rows, seeds, label, first_seed] = StudyWords(count, words, "(2,6,5)", 130000);
  std::vector<PaperRow> all = first_table();
  std::ranges::copy(second_table(), std::back_inserter(all));
  const auto row = std::ranges::find(all, label, &PaperRow::label);
  if (row == all.end()) {
    fmt::print(stderr, "there is no row {} in the paper's tables\n", label);
    return 2;
  }
  int never = 0, starts_right = 0;
  std::vector<double> needed, seconds;
  for (std::size_t s = 0; s < seeds; ++s) {
    const Drawn drawn = draw(row->setting, rows, first_seed + s);
    const RowBlocks blocks(drawn.rows);
    const double enough =
        fit_em(blocks, drawn.truth).mean_log_likelihood - as_likely / static_cast<double>(drawn.rows.size());
    Random random(first_seed + s);
    for (int i = 0; i < plain_starts; ++i) {
      const EmFit end = fit_em(blocks, random_em_start(blocks, row->setting.k, random));
      starts_right += end.mean_log_likelihood > enough ? 1 : 0;
    }
    SwapSettings settings{.em = hundred_iterations};
    settings.em.extrapolated = true;
    const Stopwatch watch;
    LawSwaps swaps(blocks, settings, random);
    EmFit fit = fit_em(blocks, random_em_start(blocks, row->setting.k, random), settings.em);
    needed.push_back(swaps_until(enough, swaps, fit));
    seconds.push_back(watch.processor_seconds());
    never += fit.mean_log_likelihood < enough ? 1 : 0;
    fmt::print("seed {}: {:.0f} swaps, {:.2f} s; the laws there err by {:.2f}\n", first_seed + s,
               needed.back(), seconds.back(), law_error(drawn.truth, fit.mixture));
    std::fflush(stdout);
  }
  fmt::print(
      "{}, {} samples: median {:.0f} swaps, {:.2f} s; never within {}: {}; plain starts as likely: {} of "
      "{}\n",
      label, seeds, median(needed), median(seconds), most_swaps, never, starts_right,
      plain_starts * static_cast<int>(seeds));
  return 0;
}
