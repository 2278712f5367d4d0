#include "experiments/real.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "experiments/measured.hpp"
#include "experiments/pass.hpp"
#include "experiments/summary.hpp"
#include "mixstream/likelihood/em_search.hpp"
#include "mixstream/likelihood/matching.hpp"

namespace experiments {
namespace {

/// A set, its two known laws (intercept, slope; flexmix and regmixEM at tight tolerance) and what they mean.
struct RealSet {
  const char* name;
  const char* package;
  const char* x;
  const char* y;
  std::vector<double> known;
  const char* first_law;
  const char* second_law;
};

const std::vector<RealSet>& real_sets() {
  static const std::vector<RealSet> sets{{"CO2data",
                                          "mixtools",
                                          "GNP a head (1000 US$)",
                                          "CO2 a head (tons)",
                                          {8.678987, -0.023344, 1.415150, 0.676596},
                                          "countries whose emissions do not grow with wealth",
                                          "countries where they do, 0.68 t per 1000 $"},
                                         {"NOdata",
                                          "mixtools",
                                          "nitric oxide in the exhaust",
                                          "equivalence ratio",
                                          {0.5650, 0.0850, 1.2471, -0.0830},
                                          "lean mixtures: richer fuel, more nitric oxide",
                                          "rich mixtures: richer fuel, less"},
                                         {"tonedata",
                                          "mixtools",
                                          "stretch ratio of the tone",
                                          "tuning ratio",
                                          {1.9164, 0.0425, -0.0193, 0.9923},
                                          "musicians who tune to the octave, whatever they hear",
                                          "musicians who follow the stretched overtones"},
                                         {"vic_elec",
                                          "tsibbledata",
                                          "temperature at 15:00 (C)",
                                          "demand (GW)",
                                          {2.8545, 0.1031, 6.9339, -0.1071},
                                          "cooling: demand grows with heat",
                                          "heating: demand falls with warmth"},
                                         {"nycflights13",
                                          "nycflights13",
                                          "distance (miles)",
                                          "time in the air (min)",
                                          {0.0, 0.1193, 0.0, 0.1315},
                                          "faster flights, 0.119 min a mile",
                                          "slower flights, 0.13 min a mile"}};
  return sets;
}

RowTable rows_of(const std::filesystem::path& path) {
  RowTable rows{2, {}, {}, {}};
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);  // names
  double x[2] = {1.0, 0.0};
  double y = 0.0;
  for (char comma = 0; file >> x[1] >> comma >> y;) rows.add({x, y});
  return rows;
}

Json laws_json(const Mixture& mixture) {
  Json laws = Json::array();
  for (std::size_t h = 0; h < mixture.component_count(); ++h) {
    laws.push_back({{"weight", mixture.weights[h]},
                    {"intercept", mixture.law(h)[0]},
                    {"slope", mixture.law(h)[1]},
                    {"sigma", std::sqrt(mixture.noise_variances[h])}});
  }
  return laws;
}

/// At most 1500 rows, evenly through the set.
Json shown_points(const RowTable& rows) {
  Json points{{"x", Json::array()}, {"y", Json::array()}};
  const std::size_t stride = rows.size() / 1500 + 1;
  for (std::size_t i = 0; i < rows.size(); i += stride) {
    points["x"].push_back(rows.row(i).features[1]);
    points["y"].push_back(rows.row(i).response);
  }
  return points;
}

Json fit_set(const RealSet& set, const std::filesystem::path& folder) {
  const RowTable rows = rows_of(folder / (std::string(set.name) + ".csv"));
  if (rows.size() == 0) return {{"rows", 0}};
  Setting setting{set.name, "1,x", 2};
  setting.noise_variances = {1.0, 1.0};  // per component; only the model's form is used
  Estimator estimator = estimator_for(setting, {2, 0}, 1);
  absorb_all(estimator, rows);
  const Report report = estimator.fit();
  const Mixture known{2, {0.5, 0.5}, set.known, {1.0, 1.0}};
  Json result{{"rows", rows.size()},
              {"status", name_of(report.status)},
              {"stage", name_of(report.stage)},
              {"words", report.words},
              {"points", shown_points(rows)}};
  if (report.moment_test) {
    result["j_per_dof"] =
        report.moment_test->value / std::max(1.0, static_cast<double>(report.moment_test->dof));
    result["p"] = report.moment_test->p_value;
  }
  if (!report.components.empty())
    result["laws"] = laws_json(relabelled(report.mixture(), matching_order(known, report.mixture())));
  const Outcome<EmSearch> em = best_of_random_starts(rows, 2, 5, 1, {.noise = NoiseModel::per_component});
  if (em) {
    const EmFit& best = em.value().best;
    result["em"] = {{"laws", laws_json(relabelled(best.mixture, matching_order(known, best.mixture)))},
                    {"log_likelihood", best.mean_log_likelihood * static_cast<double>(rows.size())}};
  }
  std::ifstream flexmix(folder / (std::string(set.name) + ".flexmix"));
  if (flexmix) result["flexmix"] = Json::parse(flexmix, nullptr, false);
  return result;
}

/// All sets, with the rows fetched now into a folder that is then removed.
Json fit_all(bool quick) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("mixstream-real-{}", getpid());
  const Measured fetched =
      run_measured({"Rscript", EXPERIMENTS_SCRIPTS "/real.R", folder.string(), quick ? "2" : "5"});
  Json cell{{"fetched", fetched.status == 0}};
  for (const RealSet& set : real_sets()) cell[set.name] = fit_set(set, folder);
  std::filesystem::remove_all(folder);
  return cell;
}

std::string law_text(const Json& law) {
  return fmt::format("{:.3f}: {:.4g} {} {:.4g} x, sd {:.3g}", law["weight"].get<double>(),
                     law["intercept"].get<double>(), law["slope"] < 0.0 ? "-" : "+",
                     std::abs(law["slope"].get<double>()), law["sigma"].get<double>());
}

std::vector<std::string> line_of(const RealSet& set, const Json& fit) {
  std::vector<std::string> line{set.name, fmt::format("{}", fit["rows"].get<std::size_t>())};
  for (std::size_t h = 0; h < 2; ++h)
    line.push_back(fit.contains("laws") ? law_text(fit["laws"][h]) : std::string("-"));
  for (std::size_t h = 0; h < 2; ++h)
    line.push_back(fit.contains("em") ? law_text(fit["em"]["laws"][h]) : std::string("-"));
  line.push_back(fit["status"].get<std::string>() +
                 (fit.contains("p") ? fmt::format(", J/dof {:.2g}, p {:.1g}", fit["j_per_dof"].get<double>(),
                                                  fit["p"].get<double>())
                                    : ""));
  return line;
}

}  // namespace

Json run_real(Context& context) {
  const Json cells =
      finished(context, context.quick ? "real quick" : "real", [&] { return fit_all(context.quick); });
  Json result{{"title", "Real data"}, {"sets", Json::array()}, {"broken", Json::array()}};
  std::vector<std::vector<std::string>> lines;
  for (const RealSet& set : real_sets()) {
    Json fit = cells[set.name];
    if (fit["rows"] == 0) {
      fmt::print(stderr, "{} left out: package {} could not be had\n", set.name, set.package);
      continue;
    }
    lines.push_back(line_of(set, fit));
    fit["name"] = set.name;
    fit["package"] = set.package;
    fit["x"] = set.x;
    fit["y"] = set.y;
    fit["meaning"] = {set.first_law, set.second_law};
    result["sets"].push_back(std::move(fit));
  }
  fmt::print("\nReal data: two laws of y on (1, x), noise per component; weight: law, noise.\n{}",
             markdown({"set", "rows", "law 1, one pass", "law 2, one pass", "law 1, EM on all rows",
                       "law 2, EM on all rows", "verdict"},
                      lines));
  for (const RealSet& set : real_sets())
    fmt::print("- {}: {} against {}. Law 1: {}. Law 2: {}.\n", set.name, set.y, set.x, set.first_law,
               set.second_law);
  for (const Json& set : result["sets"])
    fmt::print("- {}: {}\n", set["name"].get<std::string>(), set["words"].get<std::string>());
  return result;
}

}  // namespace experiments
