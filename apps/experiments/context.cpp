#include "experiments/context.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

namespace experiments {
namespace {

constexpr std::size_t quick_rows = 6000;

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
  if (context.quick) count = setting.k < 7 ? 2 : 1;
  for (std::size_t i = 0; i < count; ++i) {
    plans.push_back({setting, context.quick ? std::min(rows, quick_rows) : rows, context.seed + i,
                     context.quick ? 3 : attempts});
  }
  return plans;
}

std::vector<Json> finished(Context& context, const std::vector<InstancePlan>& plans) {
  std::vector<Json> cells;
  for (const InstancePlan& plan : plans) {
    Json cell = finished(context, key_of(plan) + ", others", [&] { return run_others(plan); });
    cell.update(finished(context, key_of(plan) + ", ours", [&] { return run_ours(plan); }));
    cells.push_back(std::move(cell));
  }
  return cells;
}

}  // namespace experiments
