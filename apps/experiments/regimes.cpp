#include "experiments/regimes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "experiments/measured.hpp"
#include "experiments/summary.hpp"
#include "mixstream/core/noise_words.hpp"
#include "mixstream/core/plain_number.hpp"
#include "mixstream/estimator.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/verdict/judge.hpp"

namespace experiments {
namespace {

using namespace mixstream;

struct RegimeSet {
  const char* name;
  const char* package;
  std::vector<std::string> features;
  const char* response;
  const char* meaning;  ///< of rows and regimes
};

const std::vector<RegimeSet>& regime_sets() {
  static const std::vector<RegimeSet> sets{
      {"beaver2",
       "datasets",
       {"1"},
       "temperature",
       "body temperature of a beaver every ten minutes; regime: active or not"},
      {"Nile",
       "datasets",
       {"1"},
       "flow",
       "yearly flow of the Nile; regime: before and after 1898, when a dam was begun"},
      {"faithful",
       "datasets",
       {"1"},
       "eruption",
       "minutes of each eruption of a geyser: short and long ones"},
      {"Seatbelts",
       "datasets",
       {"1", "kms"},
       "drivers",
       "drivers killed or hurt a month, by thousand km driven"},
      {"CO2data", "mixtools", {"1", "GNP"}, "CO2", "CO2 a head by GNP a head: countries of two kinds"},
      {"NOdata", "mixtools", {"1", "NO"}, "equivalence", "engine exhaust; regime: lean or rich mixture"},
      {"tonedata",
       "mixtools",
       {"1", "stretch"},
       "tuned",
       "tones tuned by a musician who follows one of two rules, or both exactly"},
      {"traffic", "MSwM", {"1", "Temp"}, "NDead", "people killed in traffic each day, by temperature"},
      {"energy", "MSwM", {"1", "demand"}, "price", "price of electricity each day, by demand"},
      {"vic_elec",
       "tsibbledata",
       {"1", "temperature"},
       "demand",
       "demand for electricity at 15:00, by temperature: heating and cooling"}};
  return sets;
}

struct Rows {
  RowTable table;
  std::vector<int> regimes;  // -1: not known
};

Rows rows_of(const RegimeSet& set, const std::filesystem::path& folder) {
  Rows rows;
  rows.table.feature_count = set.features.size();
  std::ifstream file(folder / (std::string(set.name) + ".csv"));
  std::string line;
  std::getline(file, line);  // names
  while (std::getline(file, line)) {
    std::ranges::replace(line, ',', ' ');
    std::istringstream words(line);
    std::vector<double> x{1.0};
    for (double value = 0.0; x.size() < set.features.size() && words >> value;) x.push_back(value);
    double y = 0.0, regime = -1.0;
    if (!(words >> y >> regime)) continue;
    rows.table.add({x, y});
    rows.regimes.push_back(static_cast<int>(regime));
  }
  return rows;
}

Report fit_of(const RegimeSet& set, const RowTable& rows) {
  EstimatorSettings settings;
  settings.state.layout = {static_cast<int>(set.features.size()), 0};
  settings.state.response = set.response;
  settings.solve.choice = {true, true};
  settings.solve.feature_names = set.features;
  Estimator estimator = Estimator::create(settings).value();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    estimator.absorb(rows.row(i));
    if (estimator.fit_is_due()) estimator.scheduled_fit();
  }
  return estimator.fit();
}

/// Share of rows whose likelier law is that of their regime, whichever is which; nothing where it is not
/// known.
std::optional<double> agreement(const Report& report, const Rows& rows) {
  if (report.components.size() != 2 || rows.regimes.empty() || rows.regimes.front() < 0) return {};
  std::vector<double> chances(2);
  double same = 0.0;
  for (std::size_t i = 0; i < rows.table.size(); ++i) {
    responsibilities(report.mixture(), rows.table.row(i), chances);
    same += (chances[1] > chances[0] ? 1 : 0) == rows.regimes[i] ? 1.0 : 0.0;
  }
  const double share = same / static_cast<double>(rows.table.size());
  return std::max(share, 1.0 - share);
}

/// A law that stands for a handful of rows, or for a single line through them.
bool collapsed(const Report& report, const RowTable& rows) {
  double mean = 0.0, square = 0.0;
  for (const double y : rows.responses) mean += y / static_cast<double>(rows.size());
  for (const double y : rows.responses) square += (y - mean) * (y - mean) / static_cast<double>(rows.size());
  return std::ranges::any_of(report.components, [&](const ComponentReport& law) {
    const double least = static_cast<double>(rows.feature_count + 1) / static_cast<double>(rows.size());
    return law.weight < least || law.noise_variance < 1e-6 * square;
  });
}

std::string laws_of(const Report& report) {
  std::string text;
  for (const ComponentReport& law : report.components) {
    std::string formula;
    for (std::size_t j = 0; j < law.coefficients.size(); ++j) {
      const double value = law.coefficients[j];
      formula += formula.empty() ? (value < 0.0 ? "-" : "") : (value < 0.0 ? " - " : " + ");
      formula += plain_number(std::abs(value));
      if (report.features[j] != "1") formula += " " + report.features[j];
    }
    text += fmt::format("{}{:.0f} %: {}, noise {}", text.empty() ? "" : "; ", 100.0 * law.weight, formula,
                        plain_number(std::sqrt(law.noise_variance), 2));
  }
  return text;
}

Json fit_set(const RegimeSet& set, const std::filesystem::path& folder) {
  const Rows rows = rows_of(set, folder);
  if (rows.table.size() == 0) return {{"rows", 0}};
  const Report report = fit_of(set, rows.table);
  Json result{{"rows", rows.table.size()},
              {"status", name_of(report.status)},
              {"words", report.words},
              {"laws", laws_of(report)},
              {"usable", is_usable(report.status)},
              {"findings", Json::array()},
              {"collapsed", is_usable(report.status) && collapsed(report, rows.table)}};
  for (const Finding finding : report.findings) result["findings"].push_back(name_of(finding));
  if (report.model)
    result["model"] = fmt::format("{}, {}", name_of(report.model->modes),
                                  noise_words(report.model->noise, report.model->noise_shape));
  if (const auto share = agreement(report, rows)) result["agreement"] = *share;
  return result;
}

Json fit_all() {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("mixstream-regimes-{}", getpid());
  const Measured fetched = run_measured({"Rscript", EXPERIMENTS_SCRIPTS "/regimes.R", folder.string()});
  Json cell{{"fetched", fetched.status == 0}};
  for (const RegimeSet& set : regime_sets()) cell[set.name] = fit_set(set, folder);
  std::filesystem::remove_all(folder);
  return cell;
}

}  // namespace

Json run_regimes(Context& context) {
  const Json cells = finished(context, "regimes", fit_all);
  Json result{
      {"title", "Ordered rows and known regimes"}, {"sets", Json::array()}, {"broken", Json::array()}};
  std::vector<std::vector<std::string>> lines;
  std::size_t usable = 0;
  for (const RegimeSet& set : regime_sets()) {
    const Json& fit = cells[set.name];
    if (fit["rows"] == 0) {
      fmt::print(stderr, "{} left out: package {} could not be had\n", set.name, set.package);
      continue;
    }
    usable += fit["usable"].get<bool>() ? 1 : 0;
    if (fit["collapsed"].get<bool>())
      result["broken"].push_back(fmt::format("{}: a collapsed law is shown", set.name));
    if (!fit["usable"].get<bool>() && fit["findings"].empty())
      result["broken"].push_back(fmt::format("{}: not to be used, and no reason", set.name));
    lines.push_back(
        {set.name, fmt::format("{}", fit["rows"].get<std::size_t>()), fit["laws"], fit.value("model", "-"),
         fit.contains("agreement") ? fmt::format("{:.0f} %", 100.0 * fit["agreement"].get<double>()) : "-",
         fit["status"]});
    result["sets"].push_back(fit);
  }
  if (lines.size() < 8) result["broken"].push_back("fewer than eight sets of ordered rows could be had");
  if (usable < 6)
    result["broken"].push_back("fewer than six sets of ordered rows have laws that may be used");
  fmt::print("\nOrdered rows and known regimes: two laws, modes and noise chosen by the rows.\n{}",
             markdown({"set", "rows", "laws", "model taken", "rows in their regime", "verdict"}, lines));
  for (const RegimeSet& set : regime_sets())
    if (cells[set.name]["rows"] != 0)
      fmt::print("- {} ({}): {}. {}\n", set.name, set.package, set.meaning,
                 cells[set.name]["words"].get<std::string>());
  return result;
}

}  // namespace experiments
