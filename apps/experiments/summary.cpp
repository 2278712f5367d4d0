#include "experiments/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

/// Counts of one column.
struct Counts {
  int refused = 0, wrong = 0, not_ok = 0, wrong_as_ok = 0, uncovered_as_ok = 0;
  int beyond_twice = 0, beyond_twice_as_ok = 0;

  void add(const Json& attempt, double mle) {
    not_ok += !attempt.is_object() || attempt.value("status", "") != "ok";
    if (is_refused(attempt)) {
      ++refused;
      return;
    }
    const double error = error_of(attempt);
    const bool ok = attempt.is_object() && attempt.value("status", "") == "ok";
    const bool wrong_and_ok = ok && is_wrong(error, mle);
    wrong += is_wrong(error, mle);
    wrong_as_ok += wrong_and_ok;
    uncovered_as_ok +=
        wrong_and_ok && (!attempt.contains("in_own_errors") || attempt["in_own_errors"] > own_errors);
    beyond_twice += is_beyond_twice(error, mle);
    beyond_twice_as_ok += ok && is_beyond_twice(error, mle);
  }

  void add(const Counts& more) {
    for (int Counts::*count : all) this->*count += more.*count;
  }
  /// One instance, however many attempts there were at it: what held of any of them.
  void add_once(const Counts& attempts) {
    for (int Counts::*count : all) this->*count += attempts.*count > 0;
  }
  static const std::array<int Counts::*, 7> all;
};
const std::array<int Counts::*, 7> Counts::all{
    &Counts::refused,           &Counts::wrong,           &Counts::not_ok,
    &Counts::wrong_as_ok,       &Counts::uncovered_as_ok, &Counts::beyond_twice,
    &Counts::beyond_twice_as_ok};

/// Attempts of ours at one instance share its moments: they count once. Starts of EM have nothing in common.
bool counts_instances(const std::string& column) {
  return column == "refined" || column == "polished";
}

Json summary_of_column(const std::vector<Json>& cells, const char* name) {
  std::vector<double> errors;
  std::vector<double> ratios;
  Counts counts;
  std::size_t attempted = 0;
  for (const Json& cell : cells) {
    const double mle = cell["mle"];
    std::vector<const Json*> attempts;
    if (cell.contains(name)) collect(cell[name], attempts);
    Counts here;
    for (const Json* attempt : attempts) {
      here.add(*attempt, mle);
      if (is_refused(*attempt)) continue;
      errors.push_back(error_of(*attempt));
      ratios.push_back(errors.back() / mle);
    }
    const bool once = counts_instances(name);
    once ? counts.add_once(here) : counts.add(here);
    attempted += once ? std::min<std::size_t>(attempts.size(), 1) : attempts.size();
  }
  Json column{{"count", attempted}, {"refused", counts.refused}};
  if (errors.empty()) return column;
  column["wrong"] = counts.wrong;
  column["mean"] = mean(errors);
  column["sd"] = standard_deviation(errors);
  column["median"] = median(errors);
  column["ratio"] = median(ratios);
  column["largest_ratio"] = std::ranges::max(ratios);
  column["not_ok"] = counts.not_ok;
  column["wrong_as_ok"] = counts.wrong_as_ok;
  column["uncovered_as_ok"] = counts.uncovered_as_ok;
  column["beyond_twice"] = counts.beyond_twice;
  column["beyond_twice_as_ok"] = counts.beyond_twice_as_ok;
  return column;
}

}  // namespace

std::string brief(double value) {
  return std::abs(value) < 0.995  ? fmt::format("{:.2g}", value)
         : std::abs(value) < 99.5 ? fmt::format("{:.3g}", value)
                                  : fmt::format("{:.0f}", value);
}

const std::vector<Column>& columns() {
  static const std::vector<Column> all{{"printed", "Spectral, printed"},
                                       {"published", "Spectral, published objective"},
                                       {"em", "EM"},
                                       {"spectral_em", "Spectral+EM"},
                                       {"start_known", "our start, noise known"},
                                       {"start", "our start"},
                                       {"refined", "refined"},
                                       {"polished", "polished"},
                                       {"mle", "MLE"}};
  return all;
}

Json summary_of(const std::vector<Json>& cells) {
  Json summary;
  for (const Column& column : columns()) summary[column.name] = summary_of_column(cells, column.name);
  return summary;
}

std::string brief(const Json& column, const char* field) {
  if (!column.contains(field)) return "-";
  const Json& value = column[field];
  return value.is_number_integer() ? fmt::format("{}", value.get<int>()) : brief(value.get<double>());
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
