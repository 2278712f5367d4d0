#include "judge.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "experiments/statistics.hpp"

namespace sensor {
namespace {

using experiments::median;
using experiments::root_mean_square;

constexpr double right_within =
    3.0;  // times the maximum likelihood's error: the same laws, not another optimum

struct Pooled {
  int streams = 0;
  int right = 0;
  int right_ok = 0;
  int wrong_ok = 0;
  int quiet_streams = 0;  // that may not drift
  int alarms = 0;
};

/// What the cells of one stationary kind say.
struct Figures {
  double to_chain = NAN, chain_rms = NAN, largest = NAN, to_chance = NAN, chance_rms = NAN;
  double coefficient_z = NAN, weight_z = NAN, transition_z = NAN, covered = NAN;
  double decrement = 0.0;  // the largest of the yardstick
  int fitted = 0, ok = 0, alarms = 0, few_words = 0;
};

std::vector<double> all_of(const std::vector<Cell>& cells, const std::string& name) {
  std::vector<double> all;
  for (const Cell& cell : cells)
    if (const auto found = cell.find(name); found != cell.end())
      all.insert(all.end(), found->second.begin(), found->second.end());
  return all;
}

double rms_or_nothing(const std::vector<double>& values) {
  return values.empty() ? NAN : root_mean_square(values);
}

void add_ratios(Figures& figures, const Measured& measured) {
  std::vector<double> to_chain, to_chance, errors, chain, chance;
  for (std::size_t s = 0; s < measured.library.size(); ++s) {
    const double best = number(measured.yardstick[s], "chain");
    const double by_chance = number(measured.yardstick[s], "chance");
    const auto error = measured.library[s].find("error");
    const double found =
        error == measured.library[s].end() ? INFINITY : error->second[0];  // no fit is no small error
    errors.push_back(found);
    chain.push_back(best);
    chance.push_back(by_chance);
    to_chain.push_back(found / best);
    to_chance.push_back(found / by_chance);
  }
  figures.to_chain = median(to_chain);
  figures.largest = std::ranges::max(to_chain);
  figures.to_chance = median(to_chance);
  figures.chain_rms = root_mean_square(errors) / root_mean_square(chain);
  figures.chance_rms = root_mean_square(errors) / root_mean_square(chance);
}

Figures figures_of(const Measured& measured) {
  Figures figures;
  add_ratios(figures, measured);
  const std::vector<double> weight_z = all_of(measured.library, "weight_z");
  figures.coefficient_z = rms_or_nothing(all_of(measured.library, "coefficient_z"));
  figures.weight_z = rms_or_nothing(weight_z);
  figures.transition_z = rms_or_nothing(all_of(measured.library, "transition_z"));
  if (!weight_z.empty())
    figures.covered =
        static_cast<double>(std::ranges::count_if(weight_z, [](double z) { return std::abs(z) < 2; })) /
        static_cast<double>(weight_z.size());
  for (const char* name : {"chain_decrement", "chance_decrement"})
    for (const double decrement : all_of(measured.yardstick, name))
      figures.decrement = std::max(figures.decrement, std::isnan(decrement) ? INFINITY : decrement);
  for (const Cell& cell : measured.library) {
    figures.fitted += cell.contains("error") ? 1 : 0;
    figures.ok += number(cell, "ok") > 0 ? 1 : 0;
    figures.alarms += static_cast<int>(cell.at("drift").size());
    figures.few_words += cell.contains("few_words") && number(cell, "few_words") > 0 ? 1 : 0;
  }
  return figures;
}

void pool(Pooled& pooled, const Measured& measured) {
  for (std::size_t s = 0; s < measured.library.size(); ++s) {
    const Cell& cell = measured.library[s];
    const bool right = cell.contains("error") &&
                       number(cell, "error") <= right_within * number(measured.yardstick[s], "chain");
    const bool ok = number(cell, "ok") > 0;
    pooled.streams += 1;
    pooled.right += right ? 1 : 0;
    pooled.right_ok += right && ok ? 1 : 0;
    pooled.wrong_ok += !right && ok ? 1 : 0;
    if (measured.kind.has_few_changes()) continue;
    pooled.quiet_streams += 1;
    pooled.alarms += static_cast<int>(cell.at("drift").size());
  }
}

class Complaints {
 public:
  void require(bool holds, const std::string& what) {
    if (!holds) words_.push_back(what);
  }
  int printed() const {
    for (const std::string& word : words_) fmt::print("does not hold: {}\n", word);
    if (words_.empty()) fmt::print("all limits hold\n");
    return static_cast<int>(words_.size());
  }

 private:
  std::vector<std::string> words_;
};

void check(Complaints& complaints, const Measured& measured, const Figures& figures, const Limits& limits) {
  const Kind& kind = measured.kind;
  const auto within = [&](double value, double limit, const char* what) {
    complaints.require(value <= limit,
                       fmt::format("{}: {} {:.3f}, at most {:.2f}", kind.name, what, value, limit));
  };
  within(figures.decrement, 1e-4, "the yardstick's squared distance from its optimum");
  if (kind.has_few_changes()) {
    within(figures.to_chance, limits.to_chance_few, "median error / i.i.d. EM");
    complaints.require(figures.covered >= limits.covered,
                       fmt::format("{}: weights within two errors {:.2f}, at least {:.2f}", kind.name,
                                   figures.covered, limits.covered));
    complaints.require(figures.few_words == static_cast<int>(measured.library.size()),
                       fmt::format("{}: words of few changes in {} of {}", kind.name, figures.few_words,
                                   measured.library.size()));
    return;
  }
  within(figures.to_chain, limits.to_chain, "median error / batch MLE");
  within(figures.to_chance, kind.dwell <= 3 ? limits.to_chance_brief : limits.to_chance,
         "median error / i.i.d. EM");
  for (const auto& [z, what] : {std::pair{figures.coefficient_z, "coefficients"},
                                {figures.weight_z, "weights"},
                                {figures.transition_z, "transitions"}})
    complaints.require(z >= limits.least_z && z <= limits.largest_z,
                       fmt::format("{}: rms z of {} {:.2f}, between {:.2f} and {:.2f}", kind.name, what, z,
                                   limits.least_z, limits.largest_z));
}

/// Prints the stationary kinds; their pooled figures are returned.
Pooled judge_stationary(const std::vector<Measured>& all, const Limits& limits, Complaints& complaints) {
  Pooled pooled;
  fmt::print(
      "| kind | streams | error / MLE: median | rms | largest | error / i.i.d. EM: median | rms | ok | drift "
      "alarms | "
      "rms z: coefficients | weights | transitions | few changes, in words |\n{}|\n",
      "|---|---|---|---|---|---|---|---|---|---|---|---|---");
  for (const Measured& measured : all) {
    if (measured.kind.change != Change::none) continue;
    const Figures f = figures_of(measured);
    fmt::print(
        "| {:<28} | {} | {:.3f} | {:.3f} | {:.2f} | {:.3f} | {:.3f} | {} | {} | {:.2f} | {:.2f} | {:.2f} | "
        "{} |\n",
        measured.kind.name, measured.library.size(), f.to_chain, f.chain_rms, f.largest, f.to_chance,
        f.chance_rms, f.ok, f.alarms, f.coefficient_z, f.weight_z, f.transition_z, f.few_words);
    check(complaints, measured, f, limits);
    pool(pooled, measured);
  }
  return pooled;
}

/// Prints whether changes were seen, and when.
void judge_changes(const std::vector<Measured>& all, const Limits& limits, Complaints& complaints) {
  for (const Measured& measured : all) {
    const Kind& kind = measured.kind;
    if (kind.change == Change::none) continue;
    int seen = 0;
    int early = 0;
    std::vector<double> delays;
    const double at = static_cast<double>(kind.rows / 2);
    for (const Cell& cell : measured.library) {
      const std::vector<double>& rows = cell.at("drift");
      const auto first = std::ranges::find_if(rows, [&](double row) { return row > at; });
      early += std::ranges::any_of(rows, [&](double row) { return row <= at; }) ? 1 : 0;
      if (first == rows.end()) continue;
      seen += 1;
      delays.push_back(*first - at);
    }
    fmt::print("{:<24} seen in {} of {} streams, median delay {} rows; alarms before the change in {}\n",
               kind.name, seen, measured.library.size(), delays.empty() ? NAN : median(delays), early);
    complaints.require(seen >= limits.changes_seen * static_cast<double>(measured.library.size()),
                       fmt::format("{}: seen in {} of {}", kind.name, seen, measured.library.size()));
  }
}

}  // namespace

Limits smoke_limits() {
  Limits limits;
  limits.to_chain = 1.3;
  limits.to_chance = 1.15;
  limits.to_chance_brief = 1.15;
  // Six streams of two laws have six free weights: chi-square(6) / 6 leaves these limits once in 10,000.
  limits.least_z = 0.2;
  limits.largest_z = 2.2;
  limits.right_ok = 0.9;
  return limits;
}

int judged(const std::vector<Measured>& all, const Limits& limits) {
  Complaints complaints;
  const Pooled pooled = judge_stationary(all, limits, complaints);
  judge_changes(all, limits, complaints);
  fmt::print("stationary streams {}: right laws {}, of these ok {}; ok with other laws {}\n", pooled.streams,
             pooled.right, pooled.right_ok, pooled.wrong_ok);
  fmt::print("false drift alarms {} in {} stationary streams with 50 changes or more\n", pooled.alarms,
             pooled.quiet_streams);
  complaints.require(pooled.right_ok >= limits.right_ok * pooled.right,
                     fmt::format("right fits ok {} of {}, at least {:.0f} %", pooled.right_ok, pooled.right,
                                 100 * limits.right_ok));
  complaints.require(pooled.alarms == 0, fmt::format("false drift alarms {}", pooled.alarms));
  return complaints.printed();
}

int judged_yardstick(const std::vector<Measured>& all) {
  int open = 0;
  fmt::print(
      "| kind | streams | MLE error, rms | i.i.d. EM error, rms | rms z: coefficients | weights | not at an "
      "optimum | "
      "seconds |\n|---|---|---|---|---|---|---|---|\n");
  for (const Measured& measured : all) {
    const std::vector<Cell>& cells = measured.yardstick;
    if (cells.empty()) continue;
    std::vector<double> decrements = all_of(cells, "chain_decrement");
    for (const double decrement : all_of(cells, "chance_decrement")) decrements.push_back(decrement);
    const auto away = std::ranges::count_if(decrements, [](double value) { return !(value < 1e-4); });
    open += static_cast<int>(away);
    fmt::print("| {:<28} | {} | {:.4f} | {:.4f} | {:.2f} | {:.2f} | {} | {:.1f} |\n", measured.kind.name,
               cells.size(), root_mean_square(all_of(cells, "chain")),
               root_mean_square(all_of(cells, "chance")), rms_or_nothing(all_of(cells, "chain_z")),
               rms_or_nothing(all_of(cells, "chain_weight_z")), away,
               experiments::mean(all_of(cells, "seconds")));
  }
  return open;
}

int judged_labels(const std::vector<Cell>& cells) {
  fmt::print("rows given a wrong law, percent, median of {} streams (noise sd 1, dwell 100):\n",
             cells.size());
  const auto share = [&](const char* name) {
    const std::vector<double> all = all_of(cells, name);
    return all.empty() ? NAN : 100 * median(all);
  };
  fmt::print("  by the fit:   filtered {:.1f}, row by row {:.1f}\n", share("filtered"), share("row_by_row"));
  fmt::print("  by the truth: filtered {:.1f}, row by row {:.1f}\n", share("true_filtered"),
             share("true_row_by_row"));
  const bool holds = share("filtered") <= 1.1 * share("true_filtered") + 0.1;
  if (!holds) fmt::print("does not hold: the filter of the fit is as good as that of the truth\n");
  return holds ? 0 : 1;
}

}  // namespace sensor
