#include "group_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mixstream/likelihood/matching.hpp"
#include "mixstream/report/counted.hpp"

namespace mixstream {
namespace {

constexpr std::size_t most_named = 6;

/// The 0.999 quantile of chi-square, by Wilson and Hilferty's cube.
double chi_square_limit(double dof) {
  constexpr double normal_quantile = 3.0902;
  const double spread = 2.0 / (9.0 * dof);
  return dof * std::pow(1.0 - spread + normal_quantile * std::sqrt(spread), 3.0);
}

bool comparable(const Report& report) {
  return report.status == FitStatus::ok && !report.components.empty() &&
         !report.components.front().coefficient_errors.empty();
}

bool share_laws(const Report& one, const Report& other) {
  if (one.components.size() != other.components.size()) return false;
  const std::vector<std::size_t> order = matching_order(one.mixture(), other.mixture());
  double distance = 0.0;
  double dof = 0.0;
  for (std::size_t h = 0; h < one.components.size(); ++h) {
    const ComponentReport& a = one.components[h];
    const ComponentReport& b = other.components[order[h]];
    for (std::size_t f = 0; f < a.coefficients.size(); ++f) {
      const double error = std::hypot(a.coefficient_errors[f], b.coefficient_errors[f]);
      if (!(error > 0.0) || !std::isfinite(error)) continue;
      distance += std::pow((a.coefficients[f] - b.coefficients[f]) / error, 2.0);
      dof += 1.0;
    }
  }
  return dof > 0.0 && distance <= chi_square_limit(dof);
}

std::string named(const std::vector<const Report*>& groups) {
  std::string text;
  for (std::size_t i = 0; i < std::min(groups.size(), most_named); ++i)
    text += (i == 0 ? "" : ", ") + groups[i]->group.value_or("");
  if (groups.size() > most_named) text += fmt::format(" and {} more", groups.size() - most_named);
  return text;
}

}  // namespace

std::vector<std::string> summary_of_groups(const std::vector<Report>& reports) {
  std::vector<const Report*> order;
  for (const Report& report : reports) {
    if (comparable(report)) order.push_back(&report);
  }
  std::vector<std::string> lines;
  if (reports.size() < 2) return lines;
  std::ranges::stable_sort(order, [](const Report* a, const Report* b) { return a->rows > b->rows; });
  std::vector<std::vector<const Report*>> kinds;  // each like its first
  for (const Report* report : order) {
    const auto like =
        std::ranges::find_if(kinds, [&](const auto& kind) { return share_laws(*kind.front(), *report); });
    if (like == kinds.end())
      kinds.push_back({report});
    else
      like->push_back(report);
  }
  std::vector<const Report*> alone;
  for (const auto& kind : kinds) {
    if (kind.size() == 1)
      alone.push_back(kind.front());
    else
      lines.push_back(fmt::format("{} share laws: {}", counted(kind.size(), "group"), named(kind)));
  }
  if (!alone.empty())
    lines.push_back(fmt::format("{} {} laws of {} own: {}", counted(alone.size(), "group"),
                                alone.size() == 1 ? "has" : "have", alone.size() == 1 ? "its" : "their",
                                named(alone)));
  if (order.size() < reports.size())
    lines.push_back(fmt::format("{} of {} not ok, and not compared", grouped(reports.size() - order.size()),
                                counted(reports.size(), "group")));
  return lines;
}

}  // namespace mixstream
