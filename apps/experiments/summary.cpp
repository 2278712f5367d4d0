#include "experiments/summary.hpp"

#include <fmt/format.h>

#include <cmath>

#include "experiments/instance.hpp"
#include "experiments/statistics.hpp"

namespace experiments {
namespace {

/// A column's cell holds an error, an object with one, or an array of either; null is a refusal.
void collect(const Json& value, std::vector<const Json*>& attempts) {
  if (value.is_array()) {
    for (const Json& part : value) collect(part, attempts);
  } else {
    attempts.push_back(&value);
  }
}

bool is_refused(const Json& attempt) {
  return attempt.is_null() || (attempt.is_object() && attempt["error"].is_null());
}

double error_of(const Json& attempt) {
  return attempt.is_object() ? attempt["error"].get<double>() : attempt.get<double>();
}

Json summary_of_column(const std::vector<Json>& cells, const char* name) {
  std::vector<double> errors;
  std::vector<double> ratios;
  int refused = 0, wrong = 0, not_ok = 0, wrong_as_ok = 0, uncovered_as_ok = 0;
  for (const Json& cell : cells) {
    const double mle = cell["mle"];
    std::vector<const Json*> attempts;
    collect(cell[name], attempts);
    for (const Json* attempt : attempts) {
      const bool ok = attempt->is_object() && attempt->value("status", "") == "ok";
      not_ok += !ok;
      if (is_refused(*attempt)) {
        ++refused;
        continue;
      }
      errors.push_back(error_of(*attempt));
      ratios.push_back(errors.back() / mle);
      wrong += is_wrong(errors.back(), mle);
      const bool wrong_and_ok = ok && is_wrong(errors.back(), mle);
      wrong_as_ok += wrong_and_ok;
      uncovered_as_ok += wrong_and_ok && (*attempt)["in_own_errors"] > own_errors;
    }
  }
  Json column{{"count", errors.size() + static_cast<std::size_t>(refused)}, {"refused", refused}};
  if (errors.empty()) return column;
  column["wrong"] = wrong;
  column["mean"] = mean(errors);
  column["sd"] = standard_deviation(errors);
  column["median"] = median(errors);
  column["ratio"] = median(ratios);
  column["largest_ratio"] = std::ranges::max(ratios);
  column["not_ok"] = not_ok;
  column["wrong_as_ok"] = wrong_as_ok;
  column["uncovered_as_ok"] = uncovered_as_ok;
  return column;
}

std::string brief(double value) {
  return std::abs(value) < 0.995  ? fmt::format("{:.2g}", value)
         : std::abs(value) < 99.5 ? fmt::format("{:.3g}", value)
                                  : fmt::format("{:.0f}", value);
}

}  // namespace

const std::vector<Column>& columns() {
  static const std::vector<Column> all{
      {"spectral", "Spectral, ours"}, {"em", "EM"},
      {"spectral_em", "Spectral+EM"}, {"start_known", "our start, noise known"},
      {"start", "our start"},         {"refined", "refined"},
      {"polished", "polished"},       {"mle", "MLE"}};
  return all;
}

Json summary_of(const std::vector<Json>& cells) {
  Json summary;
  for (const Column& column : columns()) summary[column.name] = summary_of_column(cells, column.name);
  return summary;
}

std::string plus_minus(double mean, double deviation) {
  return brief(mean) + " ± " + brief(deviation);
}

std::string text_of(const Json& column) {
  const int refused = column["refused"];
  const std::string tail = refused > 0 ? fmt::format(", {} refused", refused) : "";
  if (!column.contains("mean")) return "-" + tail;
  return fmt::format("{}; {}; {}/{}{}", plus_minus(column["mean"], column["sd"]),
                     brief(column["median"].get<double>()), column["wrong"].get<int>(),
                     column["count"].get<int>(), tail);
}

std::string markdown(const std::vector<std::string>& head,
                     const std::vector<std::vector<std::string>>& rows) {
  const auto line = [](const std::vector<std::string>& cells) {
    std::string text = "|";
    for (const std::string& cell : cells) text += " " + cell + " |";
    return text + "\n";
  };
  std::string text = line(head) + "|";
  for (std::size_t i = 0; i < head.size(); ++i) text += "---|";
  text += "\n";
  for (const auto& row : rows) text += line(row);
  return text;
}

}  // namespace experiments
