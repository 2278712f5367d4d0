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
  return is_usable(report.status) && !report.components.empty() &&
         !report.components.front().coefficient_errors.empty();
}

/// A fit beside others. The sums over its laws do not depend on their order.
struct Fit {
  explicit Fit(const Report& fitted)
      : report(&fitted),
        mixture(fitted.mixture()),
        sums(fitted.components.front().coefficients.size()),
        variances(sums.size()) {
    for (const ComponentReport& law : fitted.components) {
      for (std::size_t f = 0; f < sums.size(); ++f) {
        sums[f] += law.coefficients[f];
        variances[f] += law.coefficient_errors[f] * law.coefficient_errors[f];
        known = known && law.coefficient_errors[f] > 0.0 && std::isfinite(law.coefficient_errors[f]);
      }
    }
  }

  const Report* report;
  Mixture mixture;
  std::vector<double> sums;       // of coefficients, by feature
  std::vector<double> variances;  // of the sums
  bool known = true;              // all errors are
};

/// No order of the laws brings the two closer, by the inequality of Cauchy and Schwarz; and it costs little.
double least_distance(const Fit& one, const Fit& other) {
  double distance = 0.0;
  for (std::size_t f = 0; f < one.sums.size(); ++f) {
    const double difference = one.sums[f] - other.sums[f];
    distance += difference * difference / (one.variances[f] + other.variances[f]);
  }
  return distance;
}

bool share_laws(const Fit& one, const Fit& other) {
  const auto& laws = one.report->components;
  if (laws.size() != other.report->components.size() || one.sums.size() != other.sums.size()) return false;
  const double most = chi_square_limit(static_cast<double>(laws.size() * one.sums.size()));
  if (one.known && other.known && least_distance(one, other) > most) return false;
  const std::vector<std::size_t> order = matching_order(one.mixture, other.mixture);
  double distance = 0.0;
  double dof = 0.0;
  for (std::size_t h = 0; h < laws.size(); ++h) {
    const ComponentReport& a = laws[h];
    const ComponentReport& b = other.report->components[order[h]];
    for (std::size_t f = 0; f < a.coefficients.size(); ++f) {
      const double error = std::hypot(a.coefficient_errors[f], b.coefficient_errors[f]);
      if (!(error > 0.0) || !std::isfinite(error)) continue;
      distance += std::pow((a.coefficients[f] - b.coefficients[f]) / error, 2.0);
      dof += 1.0;
    }
  }
  return dof > 0.0 && distance <= chi_square_limit(dof);
}

std::string named(const std::vector<const Fit*>& groups) {
  std::string text;
  for (std::size_t i = 0; i < std::min(groups.size(), most_named); ++i)
    text += (i == 0 ? "" : ", ") + groups[i]->report->group.value_or("");
  if (groups.size() > most_named) text += fmt::format(" and {} more", groups.size() - most_named);
  return text;
}

}  // namespace

std::vector<std::string> summary_of_groups(const std::vector<Report>& reports) {
  std::vector<std::string> lines;
  if (reports.size() < 2) return lines;
  std::vector<Fit> order;
  for (const Report& report : reports) {
    if (comparable(report)) order.emplace_back(report);
  }
  std::ranges::stable_sort(order, [](const Fit& a, const Fit& b) { return a.report->rows > b.report->rows; });
  std::vector<std::vector<const Fit*>> kinds;  // each like its first
  for (const Fit& fit : order) {
    const auto like =
        std::ranges::find_if(kinds, [&](const auto& kind) { return share_laws(*kind.front(), fit); });
    if (like == kinds.end())
      kinds.push_back({&fit});
    else
      like->push_back(&fit);
  }
  std::vector<const Fit*> alone;
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

Report laws_of(const Report& report) {
  Report kept;
  kept.group = report.group;
  kept.rows = report.rows;
  kept.status = report.status;
  kept.components = report.components;
  return kept;
}

}  // namespace mixstream
