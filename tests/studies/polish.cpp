// What the polish is worth: its error beside the full-data maximum likelihood estimate's, its standard errors
// beside the real spread, and whether drift is seen when and only when there is some.
//   polish accuracy|errors|drift [ROWS [SEEDS [SETTING]]]: one line a setting.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "complaints.hpp"
#include "experiments/statistics.hpp"
#include "mixstream/following/polish_driver.hpp"
#include "mixstream/likelihood/em.hpp"
#include "mixstream/likelihood/matching.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/refinement/refine.hpp"
#include "support/kept.hpp"

namespace {

using namespace mixstream;
using namespace experiments;

constexpr std::uint64_t first_seed = 90000;

/// What one pass over a stream gives: the way of the estimator, without its trimmings.
struct Pass {
  Pilot pilot;
  RefinedFit refined;
  std::optional<PolishedFit> polished;
  std::uint64_t resets = 0;
  std::vector<DriftEvent> events;
  double largest_likelihood_deviation = 0.0;
  double largest_score_deviation = 0.0;
};

RowTable first_rows(const RowTable& rows, std::size_t count) {
  RowTable first{rows.feature_count, {}, {}, {}};
  for (std::size_t i = 0; i < std::min(count, rows.size()); ++i) first.add(rows.row(i));
  return first;
}

/// The rows of `rows` before `end`, thinned to a sample.
RowTable sample_until(const RowTable& rows, std::size_t end, std::size_t wanted) {
  RowTable sample{rows.feature_count, {}, {}, {}};
  const std::size_t stride = std::max<std::size_t>(1, end / wanted);
  for (std::size_t i = 0; i < end && sample.size() < wanted; i += stride) sample.add(rows.row(i));
  return sample;
}

Pass run(const Drawn& drawn, NoiseModel noise, std::size_t k, std::uint64_t seed) {
  Pass pass;
  pass.pilot = pilot_from(first_rows(drawn.rows, 4096), drawn.layout);
  TensorBuilder builder(drawn.layout, pass.pilot);
  PolishDriver driver;
  const RowTable rows = to_pilot(drawn.rows, drawn.layout, pass.pilot);
  const Mixture* previous = nullptr;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    builder.add(drawn.rows.row(i));
    if (const auto event = driver.absorb(rows.row(i))) pass.events.push_back(*event);
    if (driver.drift() != nullptr && i % 64 == 0) {
      const DriftState& drift = driver.drift()->state();
      pass.largest_likelihood_deviation =
          std::max(pass.largest_likelihood_deviation, drift.likelihood_deviations);
      pass.largest_score_deviation = std::max(pass.largest_score_deviation, drift.score_deviations);
    }
    if (!driver.should_check(i + 1) && i + 1 < rows.size()) continue;
    const RowTable sample = sample_until(rows, i + 1, 5000);
    auto refined = refine(builder.finished(), sample, k, {}, {.noise = noise, .seed = seed + 1}, previous);
    if (!refined) continue;
    pass.refined = std::move(refined).value();
    previous = pass.refined.accepted ? &pass.refined.mixture : nullptr;
    driver.reconcile(pass.refined, sample, i + 1);
    if (i + 1 == rows.size()) pass.polished = driver.fit_to_report(pass.refined, sample);
  }
  pass.resets = driver.resets();
  return pass;
}

void study_accuracy(const Setting& setting, std::size_t rows, std::uint64_t seeds, bool verbose) {
  std::vector<double> refined_ratios, ratios, errors, yardsticks;
  int failures = 0, without = 0, rejected = 0, events = 0;
  std::uint64_t resets = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    const Drawn drawn = draw(setting, rows, seed);
    const Pass pass = run(drawn, setting.noise(), setting.k, seed);
    const auto error_of = [&](const Mixture& mixture) {
      return law_error(drawn.truth, to_raw(mixture, drawn.layout, pass.pilot));
    };
    const double mle =
        law_error(drawn.truth, fit_em(drawn.rows, drawn.truth, {.noise = setting.noise()}).mixture);
    const double refined = error_of(pass.refined.mixture);
    const double error = pass.polished ? error_of(pass.polished->mixture) : refined;
    refined_ratios.push_back(refined / mle);
    ratios.push_back(error / mle);
    errors.push_back(error);
    yardsticks.push_back(mle);
    failures += error > 0.3;
    without += !pass.polished.has_value();
    rejected += !pass.refined.accepted;
    resets += pass.resets;
    events += static_cast<int>(pass.events.size());
    if (verbose) {
      fmt::print("  seed {} MLE {:.4f} refined {:.2f} polished {:.2f} resets {} {}\n", seed, mle,
                 refined / mle, error / mle, pass.resets,
                 pass.refined.accepted ? "accepted" : text_of(pass.refined.complaints));
    }
  }
  fmt::print(
      "{:12s} error/MLE polished median {:.2f} rms {:.2f} max {:.2f}; refined median {:.2f}; failures {} of "
      "{}, "
      "not polished {}, last fit rejected {}, resets {}, drift events {}\n",
      setting.name, median(ratios), root_mean_square(errors) / root_mean_square(yardsticks),
      std::ranges::max(ratios), median(refined_ratios), failures, seeds, without, rejected, resets, events);
}

/// (estimate - truth) / standard error, all parameters and seeds; and the worst parameter's own root mean
/// square over seeds.
void study_errors(const Setting& setting, std::size_t rows, std::uint64_t seeds, bool verbose) {
  std::vector<double> all;
  std::vector<std::vector<double>> by_parameter;
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    const Drawn drawn = draw(setting, rows, seed);
    const Pass pass = run(drawn, setting.noise(), setting.k, seed);
    if (!pass.polished) continue;
    const Mixture truth = to_pilot(drawn.truth, drawn.layout, pass.pilot);
    const auto order = matching_order(pass.polished->mixture, truth);
    const std::vector<double> wanted = to_parameters(relabelled(truth, order), setting.noise());
    by_parameter.resize(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      all.push_back((pass.polished->parameters[i] - wanted[i]) / pass.polished->standard_errors[i]);
      by_parameter[i].push_back(all.back());
    }
    if (verbose) fmt::print("  seed {}\n", seed);
  }
  double least = 1e300;
  double most = 0.0;
  for (const auto& values : by_parameter) {
    least = std::min(least, root_mean_square(values));
    most = std::max(most, root_mean_square(values));
  }
  fmt::print(
      "{:12s} (estimate - truth) / standard error: rms {:.3f}, by parameter {:.2f} to {:.2f}, {} seeds\n",
      setting.name, root_mean_square(all), least, most, by_parameter.empty() ? 0 : by_parameter[0].size());
}

/// The laws change at 60% of the stream: all coefficients drawn anew, or moved by a tenth.
void study_drift(const Setting& setting, std::size_t rows, std::uint64_t seeds, bool verbose) {
  const std::size_t change_at = rows * 3 / 5;
  for (const double change : {0.0, 0.1, 1.0}) {
    int streams_with_event = 0, seen = 0, early = 0;
    double likelihood = 0.0, scores = 0.0;
    std::vector<double> delays;
    for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
      auto map = FeatureMap::parse(setting.map).value();
      Simulation simulation({.map = map,
                             .component_count = setting.k,
                             .weights = setting.weights,
                             .noise_variances = setting.noise_variances,
                             .normal_columns = setting.normal_columns,
                             .cut = setting.cut,
                             .seed = seed});
      Drawn drawn{simulation.truth(),
                  simulation.table(change > 0.0 ? change_at : rows),
                  {static_cast<int>(map.feature_count()), map.constant_feature()}};
      if (change > 0.0) {
        Mixture after = simulation.truth();
        Random random(seed + 1000000);  // not the stream's own
        for (double& coefficient : after.coefficients)
          coefficient = std::sqrt(1.0 - change * change) * coefficient + change * random.normal();
        simulation.set_truth(after);
        const RowTable more = simulation.table(rows - change_at);
        for (std::size_t i = 0; i < more.size(); ++i) drawn.rows.add(more.row(i));
      }
      const Pass pass = run(drawn, setting.noise(), setting.k, seed);
      streams_with_event += !pass.events.empty();
      likelihood = std::max(likelihood, pass.largest_likelihood_deviation);
      scores = std::max(scores, pass.largest_score_deviation);
      if (pass.events.empty()) continue;
      early += pass.events[0].row <= change_at;
      seen += pass.events[0].row > change_at && pass.events[0].row <= change_at + 20000;
      delays.push_back(static_cast<double>(pass.events[0].row) - static_cast<double>(change_at));
      if (verbose) {
        for (const DriftEvent& event : pass.events)
          fmt::print("  seed {} change {} row {} {} {:.1f} sd {:.4f} nats\n", seed, change, event.row,
                     name_of(event.sign), event.deviations, event.nats_per_row);
      }
    }
    fmt::print("{:12s} change {:.1f}: streams with an event {} of {}", setting.name, change,
               streams_with_event, seeds);
    if (change > 0.0) {
      fmt::print(", within 20,000 rows {}, before the change {}, median delay {:.0f} rows\n", seen, early,
                 delays.empty() ? 0.0 : median(delays));
    } else {
      fmt::print("; largest deviation: likelihood {:.2f}, scores {:.2f}\n", likelihood, scores);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string study = argc > 1 ? argv[1] : "accuracy";
  const std::size_t rows = argc > 2 ? std::stoul(argv[2]) : 500000;
  const std::uint64_t seeds = argc > 3 ? std::stoul(argv[3]) : 3;
  const std::string wanted = argc > 4 ? argv[4] : "";
  const bool verbose = argc > 5;
  for (const Setting& setting : table_settings()) {
    if (!wanted.empty() && setting.name.find(wanted) == std::string::npos) continue;
    if (study == "accuracy") study_accuracy(setting, rows, seeds, verbose);
    if (study == "errors") study_errors(setting, rows, seeds, verbose);
    if (study == "drift") study_drift(setting, rows, seeds, verbose);
    std::fflush(stdout);
  }
}
