#include "experiments/tables.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "experiments/paper.hpp"
#include "experiments/summary.hpp"

namespace experiments {
namespace {

std::string published_text(const PaperRow& row) {
  const auto text = [](const std::optional<Published>& figure) {
    return figure ? fmt::format("{:.2f} ± {:.2f}", figure->mean, figure->deviation) : std::string("-");
  };
  return text(row.spectral) + "; " + text(row.em) + "; " + text(row.spectral_em) +
         (row.source == "comment" ? " *" : "");
}

/// What must hold in a row of the paper's tables, and is told when it does not. With 500,000 rows only.
std::vector<std::string> broken_claims(const PaperRow& row, const Json& summary) {
  std::vector<std::string> broken;
  const auto claim = [&](bool holds, const std::string& what) {
    if (!holds) broken.push_back(row.label + ": " + what);
  };
  claim(summary["polished"]["ratio"] <= 1.10, "polished errs by more than 1.10 of the MLE in median");
  claim(summary["polished"]["wrong_as_ok"] == 0, "a wrong fit was called ok");
  claim(summary["refined"]["uncovered_as_ok"] == 0,
        "a wrong fit before the polish was called ok, and its own errors do not cover it");
  claim(!row.spectral || (summary["start_known"].contains("median") &&
                          summary["start_known"]["median"] < row.spectral->mean),
        "our start is not below the paper's Spectral in median");
  return broken;
}

std::vector<std::string> text_row(const std::string& label, const Json& summary) {
  std::vector<std::string> cells{label};
  for (const Column& column : columns()) cells.push_back(text_of(summary[column.name]));
  const Json& polished = summary["polished"];
  cells.push_back(polished.contains("ratio")
                      ? fmt::format("{:.2f}; {:.2f}; {}", polished["ratio"].get<double>(),
                                    polished["largest_ratio"].get<double>(), polished["not_ok"].get<int>())
                      : "-");
  return cells;
}

std::vector<std::string> head(std::vector<std::string> first) {
  for (const Column& column : columns()) first.emplace_back(column.title);
  first.emplace_back("polished / MLE: median; largest; not ok");
  return first;
}

constexpr const char* legend =
    "Cells: mean ± sd; median; wrong/attempts. Wrong: error above {} and above twice the MLE's.\n";

Json run_table(Context& context, const std::string& title, const std::vector<PaperRow>& rows) {
  Json result{{"title", title}, {"rows", Json::array()}, {"broken", Json::array()}};
  std::vector<std::vector<std::string>> lines;
  for (const PaperRow& row : rows) {
    if (!wanted(context, row.label)) continue;
    const std::vector<InstancePlan> plans = instances_of(context, row.setting, 20, 500000, 10);
    const Json summary = summary_of(finished(context, plans));
    std::vector<std::string> line = text_row(row.label, summary);
    line.insert(line.begin() + 1, published_text(row));
    lines.push_back(std::move(line));
    if (!context.quick) {
      for (const std::string& claim : broken_claims(row, summary)) result["broken"].push_back(claim);
    }
    result["rows"].push_back(
        {{"label", row.label},
         {"map", row.setting.map},
         {"source", row.source},
         {"published",
          {{"spectral", row.spectral->mean}, {"em", row.em->mean}, {"spectral_em", row.spectral_em->mean}}},
         {"rows", plans[0].rows},
         {"seeds", {plans.front().seed, plans.back().seed}},
         {"summary", summary}});
  }
  if (lines.empty()) throw std::invalid_argument("no row of " + title + " holds " + context.only);
  fmt::print("\n{}: |B* - B|_F, {} rows, {} instances from seed {}, {} attempts each.\n", title,
             result["rows"][0]["rows"].get<std::size_t>(),
             result["rows"][0]["summary"]["mle"]["count"].get<int>(), context.seed, context.quick ? 3 : 10);
  fmt::print(fmt::runtime(legend), wrong_above);
  fmt::print("{}", markdown(head({"(b,d,k)", "paper: Spectral; EM; Spectral+EM"}), lines));
  fmt::print("* commented out in the paper's source.\n");
  return result;
}

}  // namespace

Json run_first_table(Context& context) {
  return run_table(context, "Table 1", first_table());
}

Json run_second_table(Context& context) {
  return run_table(context, "Table 2 (misspecified)", second_table());
}

Json run_histogram(Context& context) {
  std::vector<InstancePlan> plans = instances_of(context, histogram_setting(), 17, 500000, 10);
  for (InstancePlan& plan : plans) plan.repeat_ours = true;
  const std::vector<Json> cells = finished(context, plans);
  const Json summary = summary_of(cells);
  Json result{{"title", "Errors over attempts"}, {"label", "(1,4,3)"},
              {"rows", plans[0].rows},           {"summary", summary},
              {"errors", Json::object()},        {"broken", Json::array()}};
  for (const Column& column : columns()) {
    Json& errors = result["errors"][column.name] = Json::array();
    for (const Json& cell : cells) {
      const Json& value = cell[column.name];
      for (const Json& attempt : value.is_array() ? value : Json::array({value}))
        errors.push_back(attempt.is_object() ? attempt["error"] : attempt);
    }
  }
  if (!context.quick && summary["polished"]["wrong_as_ok"] != 0)
    result["broken"].push_back("histogram: a wrong fit was called ok");
  fmt::print("\nHistogram's setting, {} instances from seed {}:\n", cells.size(), context.seed);
  fmt::print(fmt::runtime(legend), wrong_above);
  fmt::print("{}", markdown(head({"(b,d,k)"}), {text_row("(1,4,3)", summary)}));
  return result;
}

Json run_noise(Context& context) {
  Json result{{"title", "Noise"}, {"rows", Json::array()}, {"broken", Json::array()}};
  std::vector<std::vector<std::string>> lines;
  for (const std::size_t at : {0U, 2U}) {
    for (const double variance : {0.01, 0.05, 0.1, 0.2, 0.4}) {
      Setting setting = first_table()[at].setting;
      setting.noise_variances = {variance};
      const Json summary = summary_of(finished(context, instances_of(context, setting, 10, 500000, 10)));
      lines.push_back(text_row(fmt::format("{} s2 = {}", setting.name, variance), summary));
      result["rows"].push_back({{"label", setting.name}, {"noise_variance", variance}, {"summary", summary}});
      if (!context.quick && summary["polished"]["wrong_as_ok"] != 0)
        result["broken"].push_back(
            fmt::format("{} s2 = {}: a wrong fit was called ok", setting.name, variance));
    }
  }
  fmt::print("\nNoise variance, first instances from seed {}:\n", context.seed);
  fmt::print(fmt::runtime(legend), wrong_above);
  fmt::print("{}", markdown(head({"(b,d,k)"}), lines));
  return result;
}

}  // namespace experiments
