// Refits in slices: how far beyond the budget they go, and which stretches of work cannot be cut.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "loop_rows.hpp"
#include "measure.hpp"
#include "mixstream/core/yield_point.hpp"

using namespace mixstream;

namespace {

double processor_microseconds() {
  return 1e6 * bench::thread_seconds();
}

double at_share(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0.0;
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

/// Six refits, each by steps one after the other. Returns the time of every slice in budgets.
std::vector<double> slices_of(std::size_t d, std::chrono::microseconds budget, int& refits) {
  LoopSettings settings = loop_settings(d, true);
  settings.policy.every_rows = 5000;
  SensorLoop loop = SensorLoop::create(settings).value();
  const LoopRows rows(d, 30000);
  std::vector<double> slices;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    loop.absorb(rows.row(i));
    do {
      const double begin = processor_microseconds();
      const bool ended = loop.refit_step(budget).has_value();
      const double time = processor_microseconds() - begin;
      if (ended || loop.refit_is_under_way()) slices.push_back(time / static_cast<double>(budget.count()));
      refits += ended ? 1 : 0;
    } while (loop.refit_is_under_way());
  }
  std::ranges::sort(slices);
  return slices;
}

/// Notes how long the work between two yield points took.
struct StretchNotes final : Yielder {
  std::map<std::pair<std::string, std::string>, std::vector<double>> stretches;
  std::string last = "begin";
  double began = processor_microseconds();

  void note(const std::string& place) {
    const double now = processor_microseconds();
    stretches[{last, place}].push_back(now - began);
    last = place;
    began = processor_microseconds();
  }
  void pass(YieldPlace where) override {
    const char* name = std::strrchr(where.file, '/');
    note(fmt::format("{}:{}", name != nullptr ? name + 1 : where.file, where.line));
  }
};

StretchNotes stretches_of(std::size_t d) {
  LoopSettings settings = loop_settings(d, true);
  settings.policy.every_rows = 5000;
  SensorLoop loop = SensorLoop::create(settings).value();
  const LoopRows rows(d, 15000);
  StretchNotes notes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    loop.absorb(rows.row(i));
    notes.last = "begin";
    notes.began = processor_microseconds();
    present_yielder = &notes;
    const bool refitted = loop.refit().has_value();
    present_yielder = nullptr;
    if (refitted) notes.note("end");
  }
  return notes;
}

}  // namespace

void bench_slices(LoopOutput output) {
  const bool table = output == LoopOutput::table;
  if (table) {
    fmt::print("| d | budget, ms | slices of a refit | median | p99 | worst |\n|---|---|---|---|---|---|\n");
  }
  const std::pair<std::size_t, int> cases[] = {{2, 200},   {2, 1000},   {4, 1000},   {8, 2000},
                                               {8, 10000}, {16, 20000}, {16, 100000}};
  for (const auto& [d, budget] : cases) {
    int refits = 0;
    const std::vector<double> slices = slices_of(d, std::chrono::microseconds(budget), refits);
    fmt::print(
        fmt::runtime(table ? "| {} | {} | {:.0f} | {:.2f} | {:.2f} | {:.2f} |\n"
                           : "{{\"bench\":\"refit_step\",\"d\":{},\"budget_ms\":{},\"slices\":{:.0f},"
                             "\"median_of_budget\":{:.3f},\"p99_of_budget\":{:.3f},\"worst_of_budget\":"
                             "{:.3f}}}\n"),
        d, 1e-3 * budget, static_cast<double>(slices.size()) / std::max(refits, 1), at_share(slices, 0.5),
        at_share(slices, 0.99), at_share(slices, 1.0));
    std::fflush(stdout);
  }
}

void bench_stretches() {
  for (const std::size_t d : {2U, 4U, 8U, 16U}) {
    std::vector<std::pair<double, std::string>> lines;
    for (auto& [place, times] : stretches_of(d).stretches) {
      std::ranges::sort(times);
      lines.emplace_back(
          times.back(),
          fmt::format("{{\"bench\":\"stretch\",\"d\":{},\"from\":\"{}\",\"to\":\"{}\",\"times\":{},"
                      "\"median_us\":{:.0f},\"worst_us\":{:.0f}}}",
                      d, place.first, place.second, times.size(), at_share(times, 0.5), times.back()));
    }
    std::ranges::sort(lines, std::ranges::greater{});
    for (std::size_t i = 0; i < std::min<std::size_t>(lines.size(), 12); ++i)
      fmt::print("{}\n", lines[i].second);
    std::fflush(stdout);
  }
}
