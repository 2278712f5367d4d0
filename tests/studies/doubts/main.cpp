// Doubts over many streams: whether their p-values hold where nothing is wrong, and whether the planted fault
// is named and sized where something is.
//
//   study-doubts calibration [--streams N] [--commit HASH] [--folder FOLDER] [--only KIND]
//   study-doubts naming      [--streams N] [--commit HASH] [--folder FOLDER] [--only FAULT]
//   study-doubts verdicts    [--streams N] [--commit HASH] [--folder FOLDER] [--only KIND]
//   study-doubts cost
//
// Seeds come from the commit's hash, so that nobody chose them. A finished stream is a line of a file in
// FOLDER, a file a kind: a study that was stopped goes on. Exits 1 when a limit does not hold.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "faults.hpp"
#include "mixstream/estimator.hpp"
#include "mixstream/rows/simulation.hpp"
#include "study.hpp"
#include "verdicts.hpp"

namespace {

using namespace doubts_study;
std::string label_of(const mixstream::Doubt& doubt) {
  return std::string(name_of(doubt.kind)) + (doubt.term.empty() ? "" : ":" + doubt.term) +
         (doubt.kind == mixstream::DoubtKind::delay ? (doubt.size > 0 ? ":before" : ":after") : "");
}

std::string all_p(const Recipe& recipe, std::uint64_t seed) {
  const Stream stream = make_stream(recipe, seed);
  const Fitted fitted = fit_stream(recipe, stream, seed);
  std::string line;
  for (const mixstream::Doubt& doubt : doubts_of(stream, fitted))
    line += fmt::format("{}={:.3g}{} ", label_of(doubt), doubt.p, doubt.raised ? "!" : "");
  return line;
}

int calibration(const Words& words) {
  bool holds = true;
  fmt::print("{:<12} {:>8} {:>8} {:>8} {:>10}  worst\n", "kind", "streams", "any", "p<.05", "worst<.01");
  for (const RightKind& kind : right_kinds()) {
    if (!words.wants(kind.name)) continue;
    std::map<std::string, std::size_t> below;
    std::size_t any = 0, looks = 0, below_5 = 0;
    const auto lines =
        lines_of(words, kind.name, [&](std::size_t, std::uint64_t seed) { return all_p(kind.recipe, seed); });
    for (const std::string& line : lines) {
      any += line.find('!') != std::string::npos ? 1 : 0;
      std::istringstream in(line);
      for (std::string word; in >> word;) {
        const auto equals = word.rfind('=');
        const double p = std::stod(word.substr(equals + 1));
        below[word.substr(0, equals)] += p < 0.01 ? 1 : 0;
        below_5 += p < 0.05 ? 1 : 0;
        ++looks;
      }
    }
    const auto worst = std::ranges::max_element(below, {}, [](const auto& entry) { return entry.second; });
    fmt::print("{:<12} {:>8} {:>8} {:>8.4f} {:>10}  {}\n", kind.name, lines.size(), any,
               static_cast<double>(below_5) / static_cast<double>(looks), worst->second, worst->first);
    std::fflush(stdout);
    const auto n = static_cast<double>(lines.size());
    // At most 24 of 1,000; for fewer streams what chance makes of the same rate in the worst of all cells.
    const double most = n >= 1000 ? 0.024 * n : 0.01 * n + 3.7 * std::sqrt(0.0099 * n) + 1.5;
    const double most_any = n >= 1000 ? 0.01 * n : 0.01 * n + 2.6 * std::sqrt(0.0099 * n) + 1.0;
    holds &= static_cast<double>(worst->second) <= most && static_cast<double>(any) <= most_any;
  }
  fmt::print("{}\n", holds ? "holds" : "does not hold");
  return holds ? 0 : 1;
}

/// The strongest doubt, its size and shift, and the true shift.
std::string strongest(const Words& words, const Fault& fault, std::uint64_t seed) {
  const Stream stream = make_stream(fault.recipe, seed);
  const Fitted fitted = fit_stream(fault.recipe, stream, seed);
  const auto doubts = doubts_of(stream, fitted);
  std::string told;
  for (const mixstream::Doubt& doubt : doubts) {
    if (words.verbose && (doubt.raised || doubt.p < 1e-3))
      fmt::print("   {} {}: T {:.1f} p {:.2g} size {:.3g} shift {:.3g} explained {:.3g}{}\n", seed,
                 label_of(doubt), doubt.statistic, doubt.p, doubt.size, doubt.shift, doubt.explained,
                 doubt.refitted ? " refit" : "");
    if (doubt.raised) told += (told.empty() ? "" : ",") + label_of(doubt);
  }
  const mixstream::Doubt& first = doubts.front();
  const bool named =
      first.raised && std::ranges::find(fault.kinds, first.kind) != fault.kinds.end() &&
      (fault.term.empty() || fault.term == first.term) &&
      (first.kind != mixstream::DoubtKind::missing_term_of_one_law || first.law == std::size_t{0});
  return fmt::format("{} {:.6g} {:.4g} {:.4g} {}", named ? 1 : 0, first.raised ? first.size : 0.0,
                     first.raised ? first.shift : 0.0, fitted.shift, told.empty() ? "nothing" : told);
}

/// How often each fault is named where it matters, all strengths together: of the streams of one strength too
/// few may matter to tell 95 % from 93 %.
class Named {
 public:
  void add(const std::string& fault, std::size_t named, std::size_t matter) {
    counts_[fault].first += named;
    counts_[fault].second += matter;
  }
  bool hold() const {
    bool all = true;
    for (const auto& [fault, count] : counts_) {
      const bool enough = static_cast<double>(count.first) >= 0.95 * static_cast<double>(count.second);
      fmt::print("{}: named in {} of {} streams that matter{}\n", fault, count.first, count.second,
                 enough ? "" : "  FAILS");
      all &= enough;
    }
    return all;
  }

 private:
  std::map<std::string, std::pair<std::size_t, std::size_t>> counts_;
};

int naming(const Words& words) {
  bool holds = true;
  Named all_named;
  fmt::print("{:<18} {:>8} {:>7} {:>7} {:>7} {:>9} {:>9} {:>9} {:>9}  told\n", "fault", "streams", "named",
             "matter", "named", "size", "true size", "shift", "true");
  for (const Fault& fault : all_faults()) {
    const std::string name = fmt::format("{}-{}", fault.name, fault.strength);
    if (!words.wants(name)) continue;
    const auto lines =
        lines_of(words, name, [&](std::size_t, std::uint64_t seed) { return strongest(words, fault, seed); });
    std::size_t named = 0, matter = 0, named_there = 0;
    std::vector<double> sizes, shifts, truths;
    std::string told, first;
    for (const std::string& line : lines) {
      std::istringstream in(line);
      int is_named = 0;
      double size = 0.0, shift = 0.0, truth = 0.0;
      in >> is_named >> size >> shift >> truth >> told;
      named += static_cast<std::size_t>(is_named);
      if (truth > 0.1) {
        ++matter;
        named_there += static_cast<std::size_t>(is_named);
      }
      if (is_named != 0) {
        sizes.push_back(size);
        shifts.push_back(shift);
      }
      truths.push_back(truth);
      if (first.empty() || is_named == 0) first = told;
    }
    const double ratio = fault.size != 0.0 ? median(sizes) / fault.size : 1.0;
    const bool good = 2 * matter < lines.size() || std::abs(ratio - 1.0) <= 0.25;
    holds &= good;
    all_named.add(fault.name, named_there, matter);
    fmt::print("{:<18} {:>8} {:>7} {:>7} {:>7} {:>9.4g} {:>9.4g} {:>9.3f} {:>9.3f}  {}{}\n", name,
               lines.size(), named, matter, named_there, median(sizes), fault.size, median(shifts),
               median(truths), first.substr(0, 90), good ? "" : "  FAILS");
    std::fflush(stdout);
  }
  holds &= all_named.hold();
  fmt::print("{}\n", holds ? "holds" : "does not hold");
  return holds ? 0 : 1;
}

/// A stream at a re-solve: right, or with a square that the fit lacks. With `chosen`, as the stream tool has
/// it, modes and noise are the rows' to choose: then runs are held, and a solve may look more than once.
mixstream::Estimator stream_for(int d, int k, bool right, bool chosen) {
  using namespace mixstream;
  std::vector<std::string> columns;
  for (int i = 1; i < d; ++i) columns.push_back("c" + std::to_string(i));
  SimulationSettings simulated{FeatureMap::plain(columns).value(), static_cast<std::size_t>(k)};
  simulated.seed = 5;
  Simulation simulation(simulated);
  EstimatorSettings settings;
  settings.solve.component_count = static_cast<std::size_t>(k);
  settings.solve.choice = {chosen, chosen};
  settings.solve.feature_names = simulated.map.names();
  settings.state.layout = {d, 0};
  Estimator estimator = Estimator::create(settings).value();
  for (std::size_t t = 0; t < 100000; ++t) {
    Row row = simulation.next();
    if (!right) row.response += 0.5 * row.features[1] * row.features[1];
    estimator.absorb(row);
    if (estimator.fit_is_due()) estimator.scheduled_fit();
  }
  return estimator;
}

/// Time of all looks of a solve beside that of the rest of it: median of five.
bool cost_at(int d, int k, bool right, bool chosen) {
  const mixstream::Estimator estimator = stream_for(d, k, right, chosen);
  std::vector<double> rest, looks;
  int count = 0;
  for (int i = 0; i < 5; ++i) {
    const mixstream::Report report = estimator.fit();
    looks.push_back(report.look_seconds);
    rest.push_back(report.solve_seconds - report.look_seconds);
    count = report.looks;
  }
  const double ratio = median(looks) / median(rest);
  fmt::print("| ({}, {}) | {} | {} | {:.1f} | {:.1f} | {} | {:.2f} |\n", d, k, right ? "right" : "curved",
             chosen ? "chosen by the rows" : "given", 1e3 * median(rest), 1e3 * median(looks), count, ratio);
  std::fflush(stdout);
  return ratio <= 1.0;
}

int cost() {
  bool holds = true;
  fmt::print("| d, k | stream | modes and noise | solve without looks, ms | looks, ms | looks | ratio |\n");
  fmt::print("|---|---|---|---|---|---|---|\n");
  for (const auto& [d, k] : {std::pair{4, 3}, std::pair{8, 4}}) {
    for (const bool right : {true, false}) {
      for (const bool chosen : {false, true}) holds &= cost_at(d, k, right, chosen);
    }
  }
  return holds ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const Words words(count, arguments);
  if (words.what == "calibration") return calibration(words);
  if (words.what == "naming") return naming(words);
  if (words.what == "verdicts") return verdicts(words);
  if (words.what == "cost") return cost();
  fmt::print(stderr,
             "study-doubts calibration|naming|verdicts|cost [--streams N] [--commit HASH] [--folder FOLDER] "
             "[--only TEXT]\n");
  return 2;
}
