#include "experiments/variants.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "experiments/paper.hpp"
#include "experiments/pass.hpp"
#include "experiments/statistics.hpp"
#include "experiments/summary.hpp"
#include "mixstream/likelihood/matching.hpp"

namespace experiments {
namespace {

/// The published objective, one choice changed.
struct Variant {
  const char* title;
  bool three_parts;  ///< Algorithm 1's D_1, D_2, D_3 instead of all rows for each regression
  std::size_t row_share;
  double second, third;  ///< factors of lambda_2 and lambda_3
  bool weights_too;      ///< the error of (pi, B) instead of B
};
constexpr std::array variants{Variant{"published objective", false, 1, 1.0, 1.0, false},
                              Variant{"three data sets", true, 1, 1.0, 1.0, false},
                              Variant{"a tenth of the rows", false, 10, 1.0, 1.0, false},
                              Variant{"lambda_2 times 3", false, 1, 3.0, 1.0, false},
                              Variant{"lambda_3 times 3", false, 1, 1.0, 3.0, false},
                              Variant{"both times 3", false, 1, 3.0, 3.0, false},
                              Variant{"error with weights", false, 1, 1.0, 1.0, true}};

double error_of(const Mixture& truth, const Mixture& fit, bool weights_too) {
  const double laws = law_error(truth, fit);
  if (!weights_too) return laws;
  const std::vector<std::size_t> order = matching_order(truth, fit);
  double squares = 0.0;
  for (std::size_t h = 0; h < order.size(); ++h)
    squares += std::pow(fit.weights[order[h]] - truth.weights[h], 2.0);
  return std::sqrt(laws * laws + squares);
}

Outcome<SpectralFit> fit_of(const Variant& variant, const InstancePlan& plan, const Drawn& drawn) {
  StateSettings state_settings{.layout = drawn.layout, .seed = plan.seed};
  if (variant.three_parts) state_settings.memory.kind = Memory::Kind::three_parts;
  MomentState state = MomentState::create(state_settings).value();
  for (std::size_t i = 0; i < drawn.rows.size() / variant.row_share; ++i) state.absorb(drawn.rows.row(i));
  SpectralSettings settings = noise_given(plan.setting);
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

Json run_instance(const InstancePlan& plan) {
  const Drawn drawn = draw(plan.setting, plan.rows, plan.seed);
  Json errors = Json::array();
  for (const Variant& variant : variants) {
    const Outcome<SpectralFit> fit = fit_of(variant, plan, drawn);
    errors.push_back(fit ? Json(error_of(drawn.truth, fit.value().mixture, variant.weights_too))
                         : Json(nullptr));
  }
  return errors;
}

}  // namespace

Json run_variants(Context& context) {
  Json result{{"title", "Variants of Spectral"}, {"rows", Json::array()}, {"broken", Json::array()}};
  std::vector<std::string> head{"(b,d,k)", "paper: mean", "sd"};
  for (const Variant& variant : variants) head.emplace_back(variant.title);
  std::vector<std::vector<std::string>> means;
  std::vector<std::vector<std::string>> medians;
  std::vector<PaperRow> rows = first_table();
  for (const PaperRow& row : second_table()) rows.push_back(row);
  for (const PaperRow& row : rows) {
    if (!row.spectral || !wanted(context, row.label)) continue;
    std::array<std::vector<double>, variants.size()> errors;
    for (const InstancePlan& plan : instances_of(context, row.setting, 20, 500000, 1)) {
      const Json cell = finished(context, key_of(plan) + ", variants", [&] { return run_instance(plan); });
      for (std::size_t i = 0; i < errors.size(); ++i)
        if (!cell[i].is_null()) errors[i].push_back(cell[i]);
    }
    means.push_back({row.label, brief(row.spectral->mean), brief(row.spectral->deviation)});
    medians.push_back(means.back());
    Json json{{"label", row.label}};
    for (std::size_t i = 0; i < errors.size(); ++i) {
      means.back().push_back(errors[i].empty() ? "-" : brief(mean(errors[i])));
      medians.back().push_back(errors[i].empty() ? "-" : brief(median(errors[i])));
      if (!errors[i].empty())
        json[variants[i].title] = {{"mean", mean(errors[i])}, {"sd", standard_deviation(errors[i])}};
    }
    result["rows"].push_back(std::move(json));
  }
  fmt::print("\nSpectral with one choice changed, means of instances from seed {}:\n{}\nMedians:\n{}",
             context.seed, markdown(head, means), markdown(head, medians));
  return result;
}

}  // namespace experiments
