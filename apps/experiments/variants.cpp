#include "experiments/variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/authors.hpp"
#include "experiments/em_runs.hpp"
#include "experiments/paper.hpp"
#include "experiments/pass.hpp"
#include "experiments/statistics.hpp"
#include "experiments/summary.hpp"
#include "mixstream/likelihood/matching.hpp"
#include "mixstream/moments/state.hpp"

namespace experiments {
namespace {

/// The published objective, one choice changed.
struct Variant {
  const char* title;
  double second = 1.0;        ///< factors of lambda_2
  double third = 1.0;         ///< and lambda_3
  double noise = 0.1;         ///< variance of the rows' noise
  double told = 0.1;          ///< what the method is told of it
  bool three_parts = false;   ///< Algorithm 1's D_1, D_2, D_3 instead of all rows for each regression
  std::size_t row_share = 1;  ///< of ten rows one is taken, say
  bool weights_too = false;   ///< the error of (pi, B) instead of B
  bool free = false;          ///< M3 without symmetry, see authors.hpp
  bool read_wrongly = false;  ///< M3 as the authors' programs read it back
};
constexpr std::array variants{Variant{.title = "published objective"},
                              Variant{.title = "three data sets", .three_parts = true},
                              Variant{.title = "a tenth of the rows", .row_share = 10},
                              Variant{.title = "lambda_2 times 3", .second = 3.0},
                              Variant{.title = "lambda_3 times 3", .third = 3.0},
                              Variant{.title = "error with weights", .weights_too = true},
                              Variant{.title = "noise of 0.01, told 0.01", .noise = 0.01, .told = 0.01},
                              Variant{.title = "noise of 0.01, told 0.1", .noise = 0.01},
                              Variant{.title = "M3 without symmetry", .free = true},
                              Variant{.title = "M3 read back wrongly", .read_wrongly = true},
                              Variant{.title = "both of M3", .free = true, .read_wrongly = true},
                              Variant{.title = "both of M3, noise of 0.01, told 0.01",
                                      .noise = 0.01,
                                      .told = 0.01,
                                      .free = true,
                                      .read_wrongly = true}};

double error_of(const Mixture& truth, const Mixture& fit, bool weights_too) {
  const double laws = law_error(truth, fit);
  if (!weights_too) return laws;
  const std::vector<std::size_t> order = matching_order(truth, fit);
  double squares = 0.0;
  for (std::size_t h = 0; h < order.size(); ++h)
    squares += std::pow(fit.weights[order[h]] - truth.weights[h], 2.0);
  return std::sqrt(laws * laws + squares);
}

MomentState absorbed(const Variant& variant, const InstancePlan& plan, const Drawn& drawn) {
  StateSettings settings{.layout = drawn.layout, .seed = plan.seed};
  if (variant.three_parts) settings.memory.kind = Memory::Kind::three_parts;
  MomentState state = MomentState::create(settings).value();
  for (std::size_t i = 0; i < drawn.rows.size() / variant.row_share; ++i) state.absorb(drawn.rows.row(i));
  return state;
}

Outcome<SpectralFit> fit_of(const Variant& variant, const InstancePlan& plan, const MomentState& state) {
  SpectralSettings settings = noise_given(plan.setting);
  settings.noise_variance = variant.told;
  settings.objective = PaperObjective::published;
  settings.second_penalty *= variant.second;
  settings.third_penalty *= variant.third;
  settings.seed = plan.seed;
  SpectralWorkspace workspace;
  const MomentTensor first = state.part_moments(0);
  const MomentTensor second = state.part_moments(1);
  const MomentTensor third = state.part_moments(2);
  return paper_estimate({first, second, third}, static_cast<int>(plan.setting.k), settings, workspace);
}

/// A law whose weight comes out below the least one is as good as lost, and its coefficients run off.
bool loses_a_law(const SpectralFit& fit) {
  return fit.warns(SpectralWarning::clamped_weight) || fit.warns(SpectralWarning::clamped_eigenvalue) ||
         fit.warns(SpectralWarning::lost_component);
}
bool loses_a_law(const Mixture& laws) {
  return std::ranges::min(laws.weights) < SpectralSettings{}.least_weight;
}

Json attempt_of(double error, bool lost) {
  return {{"error", error}, {"lost", lost}};
}

/// One attempt; ten where M3 is no symmetric tensor any more and the start of the power method decides.
Json attempts_of(const Variant& variant, const InstancePlan& plan, const Drawn& drawn) {
  const MomentState state = absorbed(variant, plan, drawn);
  const Outcome<SpectralFit> fit = fit_of(variant, plan, state);
  Json attempts = Json::array();
  if (!fit) return attempts;
  if (!variant.free && !variant.read_wrongly) {
    attempts.push_back(attempt_of(error_of(drawn.truth, fit.value().mixture, variant.weights_too),
                                  loses_a_law(fit.value())));
    return attempts;
  }
  const CubeTensor third = variant.free ? free_third(state.moments().in_raw_coordinates(), fit.value())
                                        : symmetric_third(fit.value());
  const CubeTensor read = read_back(third, variant.read_wrongly);
  for (std::uint64_t attempt = 0; attempt < 10; ++attempt) {
    const auto laws = laws_of_the_authors(fit.value(), read, plan.seed + 1000 * attempt);
    if (laws) attempts.push_back(attempt_of(law_error(drawn.truth, laws.value()), loses_a_law(laws.value())));
  }
  return attempts;
}

Json run_instance(const InstancePlan& plan) {
  Json result;
  for (const double noise : {0.1, 0.01}) {
    Setting setting = plan.setting;
    setting.noise_variances = {noise};
    const Drawn drawn = draw(setting, plan.rows, plan.seed);
    const EmRuns runs(drawn.rows, setting.noise(), has_many_laws(setting));
    const double mle = law_error(drawn.truth, runs.from_truth(drawn.truth).mixture);
    result[fmt::format("MLE, noise of {}", noise)] = Json::array({attempt_of(mle, false)});
    for (const Variant& variant : variants)
      if (variant.noise == noise) result[variant.title] = attempts_of(variant, plan, drawn);
  }
  return result;
}

/// One variant over the instances of a row, each with one attempt or more.
struct Errors {
  std::vector<double> all;    ///< of attempts
  std::vector<double> means;  ///< of instances
  std::vector<double> kept;   ///< means of those instances that lose no law in any attempt

  void add(const Json& attempts) {
    std::vector<double> errors;
    bool lost = false;
    for (const Json& attempt : attempts) {
      errors.push_back(attempt["error"]);
      lost = lost || attempt["lost"].get<bool>();
    }
    if (errors.empty()) return;
    all.insert(all.end(), errors.begin(), errors.end());
    means.push_back(mean(errors));
    if (!lost) kept.push_back(means.back());
  }
  std::optional<double> mean_kept() const { return kept.empty() ? std::nullopt : std::optional(mean(kept)); }
  std::optional<double> deviation_kept() const {
    return kept.size() < 2 ? std::nullopt : std::optional(standard_deviation(kept));
  }
  /// How many standard errors of the difference the mean of those that lose no law lies above the paper's, of
  /// 20 instances.
  std::optional<double> above(const Published& paper) const {
    if (kept.size() < 2) return {};
    const double own = standard_deviation(kept);
    return (mean(kept) - paper.mean) /
           std::sqrt(paper.deviation * paper.deviation / 20.0 + own * own / static_cast<double>(kept.size()));
  }
  /// What a mean of a single data set would do by chance.
  double share_above(double value) const {
    return static_cast<double>(std::ranges::count_if(all, [&](double error) { return error > value; })) /
           static_cast<double>(all.size());
  }
};

/// What is printed of every variant, a table each.
struct Figure {
  const char* title;
  std::optional<double> (*of)(const Errors&, const Published&);
  bool of_spectral = true;  ///< means nothing of the MLE
};
using P = Published;
using Found = std::optional<double>;
constexpr std::array figures{
    Figure{"Means", [](const Errors& errors, const P&) -> Found { return mean(errors.means); }, false},
    Figure{"Medians", [](const Errors& errors, const P&) -> Found { return median(errors.all); }, false},
    Figure{"Instances that lose a law",
           [](const Errors& errors, const P&) -> Found {
             return static_cast<double>(errors.means.size() - errors.kept.size());
           }},
    Figure{"Means of those that lose none",
           [](const Errors& errors, const P&) { return errors.mean_kept(); }},
    Figure{"Their standard deviations",
           [](const Errors& errors, const P&) { return errors.deviation_kept(); }},
    Figure{"Their mean less the paper's, in standard errors of the difference",
           [](const Errors& errors, const P& paper) { return errors.above(paper); }},
    Figure{"Share of all errors above the paper's mean",
           [](const Errors& errors, const P& paper) -> Found { return errors.share_above(paper.mean); }}};

std::vector<std::string> titles() {
  std::vector<std::string> all;
  for (const Variant& variant : variants) all.emplace_back(variant.title);
  all.insert(all.end(), {"MLE, noise of 0.1", "MLE, noise of 0.01"});
  return all;
}

/// One column of every printed table: a row of the paper's.
struct RowErrors {
  PaperRow row;
  std::map<std::string, Errors> errors;  ///< by title
  std::size_t instances = 0;
};

std::vector<RowErrors> row_errors(Context& context) {
  std::vector<PaperRow> rows = first_table();
  for (const PaperRow& row : second_table()) rows.push_back(row);
  std::vector<RowErrors> all;
  for (const PaperRow& row : rows) {
    if (!row.spectral || !wanted(context, row.label)) continue;
    RowErrors measured{row, {}, 0};
    for (const InstancePlan& plan : instances_of(context, row.setting, 20, 500000, 1)) {
      const std::string key = key_of(plan) + ", choices and laws lost";
      if (!may_have(context, key)) continue;
      const Json& cell = finished(context, key, [&] { return run_instance(plan); });
      for (const std::string& title : titles()) measured.errors[title].add(cell[title]);
      ++measured.instances;
    }
    if (measured.instances > 0) all.push_back(std::move(measured));
  }
  return all;
}

using Line = std::vector<std::string>;

/// A line of figures, one for each row of the paper's.
Line line_of(const std::string& title, const std::vector<RowErrors>& rows,
             const std::function<std::string(const RowErrors&)>& figure) {
  Line line{title};
  for (const RowErrors& row : rows) line.push_back(figure(row));
  return line;
}

std::string printed(const std::vector<RowErrors>& rows, const Figure& figure) {
  std::vector<Line> lines;
  for (const std::string& title : titles()) {
    if (figure.of_spectral && title.starts_with("MLE")) continue;
    lines.push_back(line_of(title, rows, [&](const RowErrors& measured) -> std::string {
      const Errors& errors = measured.errors.at(title);
      const Found found = errors.all.empty() ? Found() : figure.of(errors, *measured.row.spectral);
      return found ? brief(*found) : "-";
    }));
  }
  return markdown(line_of(figure.title, rows, [](const RowErrors& measured) { return measured.row.label; }),
                  lines);
}

std::string printed_paper(const std::vector<RowErrors>& rows) {
  const auto label = [](const RowErrors& measured) { return measured.row.label; };
  const auto mean = [](const RowErrors& measured) { return brief(measured.row.spectral->mean); };
  const auto deviation = [](const RowErrors& measured) { return brief(measured.row.spectral->deviation); };
  const auto instances = [](const RowErrors& measured) { return fmt::format("{}", measured.instances); };
  return markdown(line_of("The paper's Spectral", rows, label),
                  {line_of("mean", rows, mean), line_of("standard deviation", rows, deviation),
                   line_of("our instances", rows, instances)});
}

}  // namespace

Json run_variants(Context& context) {
  Json result{{"title", "Variants of Spectral"}, {"rows", Json::array()}, {"broken", Json::array()}};
  const std::vector<RowErrors> rows = row_errors(context);
  for (const RowErrors& measured : rows) {
    Json json{{"label", measured.row.label}, {"instances", measured.instances}};
    for (const auto& [title, errors] : measured.errors) {
      if (errors.all.empty()) continue;
      for (const Figure& figure : figures) {
        if (const Found found = figure.of(errors, *measured.row.spectral)) json[title][figure.title] = *found;
      }
    }
    result["rows"].push_back(std::move(json));
  }
  fmt::print("\nSpectral with one choice changed, instances from seed {}.\n\n{}", context.seed,
             printed_paper(rows));
  for (const Figure& figure : figures) fmt::print("\n{}", printed(rows, figure));
  return result;
}

}  // namespace experiments
