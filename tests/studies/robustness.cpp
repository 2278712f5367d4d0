// What the whole estimator says when something is wrong, and that it keeps silent when nothing is.
//   robustness verdict  [SEEDS [ROWS]]  right models: how often the verdict rejects, and J against chi-square
//   robustness outliers [SEEDS [ROWS]]  0.1% of rows 20 to 100 standard deviations of y away
//   robustness noise    [SEEDS [ROWS]]  other noise: J speaks, or the error is that of EM
//   robustness errors   [SEEDS [ROWS]]  standard errors against the real spread
//   robustness few      [SEEDS]         100 to 3,000 rows: right and wrong models, and how many are called ok
//   robustness drift    [SEEDS]         laws that change at row 300,000 of 500,000, and laws that do not
// Exits 1 when a claim of docs/evaluation does not hold.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "experiments/pass.hpp"
#include "experiments/statistics.hpp"
#include "mixstream/likelihood/em.hpp"
#include "mixstream/likelihood/matching.hpp"

namespace {

using namespace mixstream;
using namespace experiments;

constexpr std::uint64_t first_seed = 81000;

std::vector<Setting> chosen_settings() {
  std::vector<Setting> chosen;
  for (const Setting& setting : table_settings()) {
    for (const char* name : {"b1d4 k2", "b2d4 k3", "line k2", "gauss5 k3"}) {
      if (setting.name == name) chosen.push_back(setting);
    }
  }
  return chosen;
}

int verdicts(std::size_t seeds, std::size_t rows) {
  int broken = 0;
  fmt::print("{:<14} {:>6} {:>9} {:>6} {:>10} {:>12}\n", "setting", "seeds", "rejected", "drift", "J/dof",
             "KS p of J");
  std::vector<Setting> settings = chosen_settings();
  settings.push_back({"normal line", "1,u", 2, {0.3, 0.7}, {0.04}, true, false, {1.0, 2.0, -1.0, -1.0}});
  settings.push_back({"normal squares", "1,u,u^2", 3, {0.5, 0.3, 0.2}, {0.1}, true});
  for (const Setting& setting : settings) {
    int rejected = 0, drifted = 0;
    double ratio = 0.0;
    std::vector<double> p_values;
    for (std::size_t s = 0; s < seeds; ++s) {
      const Drawn drawn = draw(setting, rows, first_seed + s);
      Estimator estimator = estimator_for(setting, drawn.layout, first_seed + s);
      absorb_all(estimator, drawn.rows);
      const Report report = estimator.fit();
      rejected += report.status != FitStatus::ok;
      drifted += !report.drift.empty();
      ratio += report.moment_test->value / static_cast<double>(report.moment_test->dof) /
               static_cast<double>(seeds);
      p_values.push_back(report.moment_test->p_value);
    }
    const bool bounded = !setting.normal_columns;
    const double uniform = uniformity(p_values).p_value;
    fmt::print("{:<14} {:6} {:9} {:6} {:10.3f} {:>12}\n", setting.name, seeds, rejected, drifted, ratio,
               bounded ? fmt::format("{:.3f}", uniform) : "-");
    std::fflush(stdout);
    broken += static_cast<double>(rejected + drifted) > 0.02 * static_cast<double>(seeds);
    broken += bounded && uniform <= 0.01;
  }
  return broken;
}

/// How many of the streams' fits are called ok, with `asked` laws and noise as asked.
int called_ok(const Setting& truth, const Setting& asked, std::size_t rows, std::size_t seeds) {
  int ok = 0;
  for (std::size_t s = 0; s < seeds; ++s) {
    const Drawn drawn = draw(truth, rows, first_seed + s);
    Estimator estimator = estimator_for(asked, drawn.layout, first_seed + s);
    absorb_all(estimator, drawn.rows);
    ok += estimator.fit().status == FitStatus::ok;
  }
  return ok;
}

int few_rows(std::size_t seeds) {
  const std::vector<double> laws{1.0, 2.0, -1.0, -1.0, 0.5, 1.0, 3.0, -2.0, 2.0};
  const Setting three{"three", "1,u,v", 3, {0.5, 0.3, 0.2}, {0.09}, false, false, laws};
  const Setting two{"two", "1,u,v", 2, {0.6, 0.4}, {0.09}, false, false, {laws.begin(), laws.begin() + 6}};
  Setting unequal = two;
  unequal.noise_variances = {0.01, 0.5};
  Setting one = two;
  one.k = 1;
  int broken = 0;
  fmt::print("{:>6} {:>6} {:>18} {:>12} {:>18} {:>10} {:>26}\n", "rows", "seeds", "three laws, asked 3",
             "asked 2", "two laws, asked 2", "asked 1", "unequal noise, asked equal");
  for (const std::size_t rows : {100, 300, 1000, 3000}) {
    const int too_few = called_ok(three, two, rows, seeds);
    const int far_too_few = called_ok(two, one, rows, seeds);
    const int equal = called_ok(unequal, two, rows, seeds);
    fmt::print("{:6} {:6} {:18} {:12} {:18} {:10} {:26}\n", rows, seeds, called_ok(three, three, rows, seeds),
               too_few, called_ok(two, two, rows, seeds), far_too_few, equal);
    std::fflush(stdout);
    if (rows >= 300) broken += too_few + far_too_few + equal;
  }
  return broken;
}

double spread_of(const RowTable& rows) {
  double sum = 0.0;
  double squares = 0.0;
  for (const double y : rows.responses) {
    sum += y;
    squares += y * y;
  }
  const auto n = static_cast<double>(rows.size());
  return std::sqrt(squares / n - sum * sum / n / n);
}

int outliers(std::size_t seeds, std::size_t rows) {
  int broken = 0;
  fmt::print("{:<12} {:>12} {:>14} {:>12} {:>10} {:>8} {:>6}\n", "setting", "clean error", "with outliers",
             "worst ratio", "set aside", "of", "not ok");
  for (const Setting& setting : chosen_settings()) {
    std::vector<double> clean, dirty;
    std::uint64_t set_aside = 0, planted = 0;
    double worst = 0.0;
    int not_ok = 0;
    for (std::size_t s = 0; s < seeds; ++s) {
      Drawn drawn = draw(setting, rows, first_seed + s);
      Estimator before = estimator_for(setting, drawn.layout, s);
      absorb_all(before, drawn.rows);
      Random random(first_seed + 500 + s);
      const double spread = spread_of(drawn.rows);
      for (double& y : drawn.rows.responses) {
        if (random.uniform() >= 0.001) continue;
        y += (random.uniform() < 0.5 ? -1.0 : 1.0) * random.uniform(20.0, 100.0) * spread;
        ++planted;
      }
      Estimator after = estimator_for(setting, drawn.layout, s);
      absorb_all(after, drawn.rows);
      const Report report = after.fit();
      clean.push_back(law_error(drawn.truth, before.fit().mixture()));
      dirty.push_back(law_error(drawn.truth, report.mixture()));
      worst = std::max(worst, dirty.back() / clean.back());
      set_aside += report.set_aside;
      not_ok += report.status != FitStatus::ok;
    }
    std::ranges::sort(clean);
    std::ranges::sort(dirty);
    const double ratio = dirty[seeds / 2] / clean[seeds / 2];
    fmt::print("{:<12} {:12.4f} {:14.4f} {:12.2f} {:10} {:8} {:6}\n", setting.name, clean[seeds / 2],
               dirty[seeds / 2], worst, set_aside, planted, not_ok);
    std::fflush(stdout);
    broken += ratio > 2.0;
  }
  return broken;
}

enum class Noise { laplace, student5, skewed, unequal };

double draw_noise(Noise noise, std::size_t component, Random& random) {
  const double deviation = std::sqrt(0.1);
  if (noise == Noise::unequal) return std::sqrt(component == 0 ? 0.02 : 0.2) * random.normal();
  if (noise == Noise::skewed) return deviation * (-std::log(1.0 - random.uniform()) - 1.0);
  if (noise == Noise::laplace) {
    const double size = -std::log(1.0 - random.uniform()) / std::sqrt(2.0);
    return deviation * (random.uniform() < 0.5 ? -size : size);
  }
  double squares = 0.0;
  for (int i = 0; i < 5; ++i) {
    const double part = random.normal();
    squares += part * part;
  }
  return deviation * random.normal() / std::sqrt(squares / 5.0) *
         std::sqrt(3.0 / 5.0);  // unit variance before
}

int noises(std::size_t seeds, std::size_t rows) {
  int broken = 0;
  const Setting setting{"b2d4 k3", "1,u,v,u^2*v^2", 3};
  fmt::print("{:<10} {:>10} {:>10} {:>8} {:>9} {:>10} {:>18}\n", "noise", "EM error", "ours", "worst",
             "not ok", "said q<=3", "silent past 1.5 EM");
  for (const auto& [name, noise] :
       {std::pair{"laplace", Noise::laplace}, std::pair{"t5", Noise::student5},
        std::pair{"skewed", Noise::skewed}, std::pair{"unequal", Noise::unequal}}) {
    std::vector<double> theirs, ours;
    double worst = 0.0;
    int not_ok = 0, fewer = 0, silent = 0;
    for (std::size_t s = 0; s < seeds; ++s) {
      SimulationSettings stream{
          .map = FeatureMap::parse(setting.map).value(), .component_count = 3, .noise_variances = {0.0}};
      stream.seed = first_seed + s;
      Simulation simulation(stream);
      Random random(first_seed + 900 + s);
      RowTable table{4, {}, {}, {}};
      for (std::size_t i = 0; i < rows; ++i) {
        Row row = simulation.next();
        row.response += draw_noise(noise, simulation.component(), random);
        table.add(row);
      }
      Estimator estimator = estimator_for(setting, {4, 0}, first_seed + s);
      absorb_all(estimator, table);
      const Report report = estimator.fit();
      Mixture truth = simulation.truth();
      std::ranges::fill(truth.noise_variances, 0.1);
      theirs.push_back(law_error(truth, fit_em(table, truth).mixture));
      ours.push_back(law_error(truth, report.mixture()));
      const bool spoke = report.status != FitStatus::ok;
      not_ok += spoke;
      fewer += report.moment_test->conditions.starts_with("q<=3");
      worst = std::max(worst, ours.back() / theirs.back());
      silent += !spoke && ours.back() > 1.5 * theirs.back();
    }
    std::ranges::sort(theirs);
    std::ranges::sort(ours);
    fmt::print("{:<10} {:10.4f} {:10.4f} {:8.2f} {:9} {:10} {:18}\n", name, theirs[seeds / 2],
               ours[seeds / 2], worst, not_ok, fewer, silent);
    std::fflush(stdout);
    broken += silent;
  }
  return broken;
}

int errors(std::size_t seeds, std::size_t rows) {
  int broken = 0;
  fmt::print("{:<12} {:>32}\n", "setting", "rms of error / standard error");
  for (const Setting& setting : chosen_settings()) {
    double squares = 0.0;
    double count = 0.0;
    for (std::size_t s = 0; s < seeds; ++s) {
      const Drawn drawn = draw(setting, rows, first_seed + s);
      Estimator estimator = estimator_for(setting, drawn.layout, first_seed + s);
      absorb_all(estimator, drawn.rows);
      const Report report = estimator.fit();
      const std::vector<std::size_t> order = matching_order(drawn.truth, report.mixture());
      for (std::size_t h = 0; h < setting.k; ++h) {
        const ComponentReport& component = report.components[order[h]];
        for (std::size_t f = 0; f < component.coefficients.size(); ++f) {
          const double deviation =
              (component.coefficients[f] - drawn.truth.law(h)[f]) / component.coefficient_errors[f];
          squares += deviation * deviation;
          count += 1.0;
        }
      }
    }
    const double ratio = std::sqrt(squares / count);
    fmt::print("{:<12} {:32.3f}\n", setting.name, ratio);
    std::fflush(stdout);
    broken += ratio < 0.75 || ratio > 1.25;
  }
  return broken;
}

/// The row of the first drift event, or 0. `change`: row at which new laws are drawn; 0: never.
std::uint64_t first_event(const Setting& setting, std::uint64_t seed, std::size_t change, std::size_t rows) {
  Simulation simulation({.map = FeatureMap::parse(setting.map).value(),
                         .component_count = setting.k,
                         .weights = setting.weights,
                         .noise_variances = setting.noise_variances,
                         .normal_columns = setting.normal_columns,
                         .seed = seed});
  const FeatureMap map = FeatureMap::parse(setting.map).value();
  Estimator estimator =
      estimator_for(setting, {static_cast<int>(map.feature_count()), map.constant_feature()}, seed);
  for (std::size_t i = 0; i < rows; ++i) {
    if (change > 0 && i == change) {
      Mixture truth = simulation.truth();
      Random random(seed + 1);
      for (double& coefficient : truth.coefficients) coefficient = random.normal();
      simulation.set_truth(truth);
    }
    estimator.absorb(simulation.next());
    if (estimator.fit_is_due()) estimator.scheduled_fit();
    if (!estimator.drift().empty()) return estimator.drift().front().row;
  }
  return 0;
}

int drifts(std::size_t seeds) {
  int broken = 0;
  fmt::print("{:<12} {:>14} {:>14} {:>16} {:>12}\n", "setting", "seen in time", "latest (rows)",
             "before change", "false alarms");
  for (const Setting& setting : chosen_settings()) {
    int seen = 0, early = 0, alarms = 0;
    std::uint64_t latest = 0;
    for (std::size_t s = 0; s < seeds; ++s) {
      const std::uint64_t row = first_event(setting, first_seed + s, 300000, 330000);
      early += row > 0 && row <= 300000;
      seen += row > 300000 && row <= 320000;
      if (row > 300000) latest = std::max(latest, row - 300000);
      alarms += first_event(setting, first_seed + 1000 + s, 0, 500000) > 0;
    }
    fmt::print("{:<12} {:>8} of {:2} {:14} {:16} {:>6} of {:2}\n", setting.name, seen, seeds, latest, early,
               alarms, seeds);
    std::fflush(stdout);
    broken += early + alarms + (static_cast<int>(seeds) - seen - early);
  }
  return broken;
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  const auto number = [&](int i, std::size_t otherwise) {
    return count > i ? std::stoul(words[i]) : otherwise;
  };
  if (what == "verdict") return verdicts(number(2, 200), number(3, 100000)) == 0 ? 0 : 1;
  if (what == "outliers") return outliers(number(2, 20), number(3, 500000)) == 0 ? 0 : 1;
  if (what == "noise") return noises(number(2, 20), number(3, 200000)) == 0 ? 0 : 1;
  if (what == "errors") return errors(number(2, 100), number(3, 100000)) == 0 ? 0 : 1;
  if (what == "few") return few_rows(number(2, 50)) == 0 ? 0 : 1;
  if (what == "drift") return drifts(number(2, 50)) == 0 ? 0 : 1;
  fmt::print(stderr, "robustness verdict|outliers|noise|errors|few|drift [SEEDS [ROWS]]\n");
  return 2;
}
