#include "experiments/context.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

namespace experiments {
namespace {

constexpr std::size_t quick_rows = 6000;
constexpr std::size_t quick_rows_of_many_laws = 1000;

}  // namespace

const Json& finished(Context& context, const std::string& key, const std::function<Json()>& run) {
  if (const Json* cell = context.store.find(key)) return *cell;
  fmt::print(stderr, "{} ...", key);
  std::fflush(stderr);
  const auto began = std::chrono::steady_clock::now();
  const Json& cell = context.store.add(key, run());
  fmt::print(stderr, " {:.1f} s\n",
             std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  return cell;
}

std::vector<InstancePlan> instances_of(const Context& context, const Setting& setting, std::size_t count,
                                       std::size_t rows, int attempts) {
  std::vector<InstancePlan> plans;
  if (context.instances > 0) count = context.instances;
  if (context.quick) {
    count = has_many_laws(setting) ? 1 : 2;
    rows = std::min(rows, has_many_laws(setting) ? quick_rows_of_many_laws : quick_rows);
    attempts = 3;
  }
  for (std::size_t i = 0; i < count; ++i) plans.push_back({setting, rows, context.seed + i, attempts});
  return plans;
}

std::vector<Json> finished(Context& context, const std::vector<InstancePlan>& plans) {
  std::vector<Json> cells;
  for (const InstancePlan& plan : plans) {
    const std::string others = key_of(plan) + ", paper";
    const std::string ours = key_of(plan) + ", ours";
    if (!may_have(context, others) || (!context.paper_only && !may_have(context, ours))) continue;
    Json cell = finished(context, others, [&] { return run_others(plan); });
    if (!context.paper_only) cell.update(finished(context, ours, [&] { return run_ours(plan); }));
    cells.push_back(std::move(cell));
  }
  return cells;
}

}  // namespace experiments
