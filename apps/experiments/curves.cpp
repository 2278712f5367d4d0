#include "experiments/curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/em_runs.hpp"
#include "experiments/paper.hpp"
#include "experiments/pass.hpp"
#include "experiments/statistics.hpp"
#include "experiments/summary.hpp"
#include "mixstream/moments/state.hpp"

namespace experiments {
namespace {

constexpr int grid_steps = 100;  // curves are drawn at -1, -0.98, ..., 1
constexpr std::size_t shown_rows = 1200;

/// y of every law along t, for maps of the one base variable t.
Json curves_of(const Mixture& mixture, const FeatureMap& map) {
  Json laws = Json::array();
  std::vector<double> features(mixture.feature_count);
  for (std::size_t h = 0; h < mixture.component_count(); ++h) {
    Json values = Json::array();
    for (int i = 0; i <= grid_steps; ++i) {
      const double t = 2.0 * i / grid_steps - 1.0;
      map.evaluate({&t, 1}, features);
      values.push_back(std::inner_product(features.begin(), features.end(), mixture.law(h).begin(), 0.0));
    }
    laws.push_back(std::move(values));
  }
  return laws;
}

/// Fits of EM that agree in likelihood are one optimum: the first of them, and how many there are.
void add_optimum(Json& optima, const Mixture& truth, const EmFit& fit, const FeatureMap& map) {
  for (Json& optimum : optima) {
    if (std::abs(optimum["log_likelihood"].get<double>() - fit.mean_log_likelihood) > 1e-5) continue;
    optimum["count"] = optimum["count"].get<int>() + 1;
    return;
  }
  optima.push_back({{"error", law_error(truth, fit.mixture)},
                    {"log_likelihood", fit.mean_log_likelihood},
                    {"count", 1},
                    {"laws", curves_of(fit.mixture, map)}});
}

Json shown_points(const Drawn& drawn) {
  Json points{{"t", Json::array()}, {"y", Json::array()}};
  for (std::size_t i = 0; i < std::min(shown_rows, drawn.rows.size()); ++i) {
    points["t"].push_back(drawn.rows.row(i).features[1]);  // the map begins 1, t
    points["y"].push_back(drawn.rows.row(i).response);
  }
  return points;
}

Json with_error(const Mixture& truth, const Mixture& mixture, const FeatureMap& map) {
  return {{"error", law_error(truth, mixture)}, {"laws", curves_of(mixture, map)}};
}

Json fit_curves(const Setting& setting, std::size_t rows, std::uint64_t seed, int attempts) {
  const FeatureMap map = FeatureMap::parse(setting.map).value();
  const Drawn drawn = draw(setting, rows, seed);
  Estimator estimator = estimator_for(setting, drawn.layout, seed);
  absorb_all(estimator, drawn.rows);
  const EmRuns runs(drawn.rows, setting.noise());
  SharedEmRuns em(runs);
  Json result{{"points", shown_points(drawn)}, {"truth", curves_of(drawn.truth, map)}};
  const Report report = estimator.fit();
  result["ours"] = with_error(drawn.truth, report.mixture(), map);
  result["ours"]["status"] = name_of(report.status);
  SpectralWorkspace workspace;
  SpectralSettings told = noise_given(setting);
  told.objective = PaperObjective::published;
  const Outcome<SpectralFit> spectral =
      paper_estimate(estimator.state().moments(), static_cast<int>(setting.k), told, workspace);
  if (spectral) {
    result["spectral"] = with_error(drawn.truth, spectral.value().mixture, map);
    result["spectral_em"] = with_error(drawn.truth, em.from(spectral.value().mixture).mixture, map);
  }
  Random random(seed + 7000000);
  result["em"] = Json::array();
  for (int i = 0; i < attempts; ++i) {
    add_optimum(result["em"], drawn.truth,
                em.from(random_em_start(setting.k, drawn.truth.feature_count, random)), map);
  }
  return result;
}

std::vector<std::string> line(const char* name, const Json& fit) {
  return {name, fit.is_null() ? "refused" : fmt::format("{:.4f}", fit["error"].get<double>())};
}

}  // namespace

Json run_curves(Context& context) {
  const std::size_t rows = context.quick ? 20000 : 500000;
  const int attempts = context.quick ? 5 : 50;
  const Setting setting = histogram_setting();
  const std::string key =
      fmt::format("curves {} n={} seed={} attempts={}", setting.map, rows, context.seed, attempts);
  Json result = finished(context, key, [&] { return fit_curves(setting, rows, context.seed, attempts); });
  int right = 0;
  for (const Json& optimum : result["em"])
    right += optimum["error"] < wrong_above ? optimum["count"].get<int>() : 0;
  std::vector<std::vector<std::string>> lines{line("Spectral", result.value("spectral", Json())),
                                              line("Spectral+EM", result.value("spectral_em", Json())),
                                              line("ours", result["ours"])};
  for (const Json& optimum : result["em"])
    lines.push_back(
        line(fmt::format("EM, {} of {}", optimum["count"].get<int>(), attempts).c_str(), optimum));
  fmt::print("\nCurves at (1,4,3), {} rows, seed {}; EM right in {} of {} attempts:\n{}", rows, context.seed,
             right, attempts, markdown({"fit", "error"}, lines));
  result["title"] = "Curve fits";
  result["broken"] = Json::array();
  return result;
}

Json run_learning_curve(Context& context) {
  Json result{{"title", "Learning curves"}, {"rows", Json::array()}, {"broken", Json::array()}};
  std::vector<std::vector<std::string>> lines;
  for (const Setting& setting :
       {learning_setting(false), learning_setting(true), close_setting(false), close_setting(true)}) {
    for (const std::size_t rows : {1000, 3000, 10000, 30000, 100000, 300000, 1000000, 10000000}) {
      if (context.quick && rows > 6000) continue;
      if (!wanted(context, fmt::format("{} {} rows", setting.name, rows))) continue;
      const std::vector<InstancePlan> plans =
          instances_of(context, setting, rows > 1000000 ? 2 : 10, rows, 10);
      const Json summary = summary_of(finished(context, plans));
      result["rows"].push_back(
          {{"label", setting.name}, {"cut", setting.cut}, {"rows", plans[0].rows}, {"summary", summary}});
      std::vector<std::string> cells{setting.name, fmt::format("{}", plans[0].rows)};
      for (const Column& column : columns()) cells.push_back(brief(summary[column.name], "median"));
      for (const char* name : {"em", "refined", "polished"})
        cells.push_back(brief(summary[name], "beyond_twice"));
      cells.push_back(brief(summary["polished"], "beyond_twice_as_ok"));
      for (const char* name : {"refined", "polished", "em"}) cells.push_back(brief(summary[name], "wrong"));
      cells.push_back(brief(summary["em"], "count"));
      lines.push_back(std::move(cells));
    }
  }
  std::vector<std::string> head{"(b,d,k)", "rows"};
  for (const Column& column : columns()) head.emplace_back(column.title);
  head.insert(head.end(), {"EM starts beyond twice the MLE", "refined, likewise", "polished, likewise",
                           "polished, called ok", "refined, with a floor", "polished, with a floor",
                           "EM, with a floor", "starts of EM"});
  fmt::print("\nLearning curves, map {} and, ours, {}; instances from seed {}:\n",
             learning_setting(false).map, close_setting(false).map, context.seed);
  fmt::print("Median errors, and counts.\n{}", markdown(head, lines));
  return result;
}

}  // namespace experiments
