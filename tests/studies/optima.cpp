// Whether a wrong optimum is ever called ok, with many laws: the verdict of every fit along a stream, held
// against the maximum likelihood estimate of the same rows (EM from the truth). Wrong is an error of more
// than three times the estimate's and of more than three times what the fit says of itself: its coefficients'
// root mean square, in their standard errors.
//   optima [ROWS [SEEDS [(b,d,k) [FIRST_SEED]]]]
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "experiments/paper.hpp"
#include "experiments/pass.hpp"
#include "mixstream/likelihood/em.hpp"
#include "words.hpp"

namespace {

using namespace mixstream;
using namespace experiments;

constexpr double wrong_beyond = 3.0;  // times both

struct Counts {
  int right = 0, right_as_ok = 0, wrong = 0, wrong_as_ok = 0;
};

/// The first rows of a stream, for its yardstick at that point.
RowTable first_rows(const RowTable& rows, std::size_t count) {
  RowTable first{rows.feature_count, {}, {}, {}};
  for (std::size_t i = 0; i < count; ++i) first.add(rows.row(i));
  return first;
}

void tell(const Report& report, const Drawn& drawn, NoiseModel noise, Counts& counts) {
  if (report.components.empty()) return;
  const auto rows = static_cast<std::size_t>(report.rows);
  const EmFit likeliest =
      fit_em(first_rows(drawn.rows, rows), drawn.truth, {.noise = noise, .stop_below_gain = 1e-8});
  const double ratio = law_error(drawn.truth, report.mixture()) / law_error(drawn.truth, likeliest.mixture);
  const double own = in_own_errors(report, drawn.truth);
  const bool wrong = ratio > wrong_beyond && own > wrong_beyond;
  const bool ok = report.status == FitStatus::ok;
  ++(wrong ? counts.wrong : counts.right);
  if (ok) ++(wrong ? counts.wrong_as_ok : counts.right_as_ok);
  fmt::print("  {:>8} rows: {:7.2f} of the MLE, {:6.2f} of its own, {}{} ({:.1f} s) {}\n", rows, ratio, own,
             name_of(report.status), wrong && ok ? ", WRONG" : "", report.solve_seconds,
             report.words.substr(0, 90));
  std::fflush(stdout);
}

void run(const Setting& setting, std::size_t rows, std::uint64_t seed, Counts& along, Counts& at_end) {
  const Drawn drawn = draw(setting, rows, seed);
  Estimator estimator = estimator_for(setting, drawn.layout, seed);
  fmt::print("seed {}\n", seed);
  for (std::size_t i = 0; i < rows; ++i) {
    estimator.absorb(drawn.rows.row(i));
    if (estimator.fit_is_due()) tell(estimator.scheduled_fit(), drawn, setting.noise(), along);
  }
  tell(estimator.fit(), drawn, setting.noise(), at_end);
}

void print(const char* where, const Counts& counts) {
  fmt::print("{}: {} of {} right fits called ok; {} of {} wrong ones\n", where, counts.right_as_ok,
             counts.right, counts.wrong_as_ok, counts.wrong);
}

}  // namespace

int main(int count, char** words) {
  const auto [rows, seeds, label, first_seed] = StudyWords(count, words, "(2,6,5)", 76000);
  std::vector<PaperRow> all = first_table();
  std::ranges::copy(second_table(), std::back_inserter(all));
  for (const bool cut : {false, true}) {
    for (const Setting& setting : {learning_setting(cut), close_setting(cut)})
      all.push_back({setting.name, setting, {}, {}, {}, "learning curves", {}});
  }
  const auto row = std::ranges::find(all, label, &PaperRow::label);
  if (row == all.end()) {
    fmt::print(stderr, "there is no row {} in the paper's tables or curves\n", label);
    return 2;
  }
  Counts along, at_end;
  for (std::size_t s = 0; s < seeds; ++s) run(row->setting, rows, first_seed + s, along, at_end);
  fmt::print("{}, {} streams of {} rows from seed {}\n", label, seeds, rows, first_seed);
  print("along the way", along);
  print("at the end", at_end);
  return along.wrong_as_ok + at_end.wrong_as_ok == 0 ? 0 : 1;
}
