#include "experiments/instance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/em_runs.hpp"
#include "experiments/pass.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/solving/solve.hpp"
#include "mixstream/tensor/spectral.hpp"
#include "mixstream/verdict/paper.hpp"

namespace experiments {
namespace {

Json described(const Mixture& truth, const EmFit& fit) {
  return {{"error", law_error(truth, fit.mixture)},
          {"log_likelihood", fit.mean_log_likelihood},
          {"iterations", fit.iterations}};
}

Json described(const Mixture& truth, const Outcome<SpectralFit>& fit) {
  if (!fit) return nullptr;
  Json json{{"error", law_error(truth, fit.value().mixture)},
            {"status", name_of(paper_verdict(fit.value()).status)},
            {"warnings", Json::array()}};
  for (const SpectralWarning warning : fit.value().warnings) json["warnings"].push_back(name_of(warning));
  return json;
}

/// What the authors' EM begins with: the laws found, uniform weights, and s2 = 0.1 whatever the noise is.
Mixture em_start_of(Mixture found) {
  std::ranges::fill(found.weights, 1.0 / static_cast<double>(found.component_count()));
  std::ranges::fill(found.noise_variances, 0.1);
  return found;
}

/// The paper's method with either objective, and EM from what the published one found.
void run_paper(const InstancePlan& plan, const Drawn& drawn, const MomentTensor& tensor, SharedEmRuns& em,
               Json& result) {
  SpectralWorkspace workspace;
  SpectralSettings settings = noise_given(plan.setting);
  settings.seed = plan.seed;
  const auto k = static_cast<int>(plan.setting.k);
  result["printed"] = described(drawn.truth, paper_estimate(tensor, k, settings, workspace));
  settings.objective = PaperObjective::published;
  const Outcome<SpectralFit> published = paper_estimate(tensor, k, settings, workspace);
  result["published"] = described(drawn.truth, published);
  result["spectral_em"] =
      published ? described(drawn.truth, em.from(em_start_of(published.value().mixture))) : Json(nullptr);
}

void run_random_em(const InstancePlan& plan, const Mixture& truth, SharedEmRuns& em, Json& result) {
  Random random(plan.seed + 7000000);
  result["em"] = Json::array();
  for (int attempt = 0; attempt < plan.attempts; ++attempt)
    result["em"].push_back(
        described(truth, em.from(random_em_start(plan.setting.k, truth.feature_count, random))));
}

Json error_or_null(const Mixture& truth, const Outcome<SpectralFit>& fit) {
  return fit ? Json(law_error(truth, fit.value().mixture)) : Json(nullptr);
}

Json described(const Mixture& truth, const Report& report) {
  Json json{{"error", nullptr}, {"status", name_of(report.status)}, {"stage", name_of(report.stage)}};
  if (!report.components.empty()) {
    json["error"] = law_error(truth, report.mixture());
    json["in_own_errors"] = in_own_errors(report, truth);
  }
  if (report.moment_test)
    json["j_per_dof"] =
        report.moment_test->value / std::max(1.0, static_cast<double>(report.moment_test->dof));
  return json;
}

/// Our pass. Leaves the estimator, whose moments our spectral start uses.
Estimator run_pass(const InstancePlan& plan, const Drawn& drawn, std::uint64_t seed, Json& result) {
  Estimator estimator = estimator_for(plan.setting, drawn.layout, seed);
  absorb_all(estimator, drawn.rows);
  result["polished"].push_back(described(drawn.truth, estimator.fit()));
  result["refined"].push_back(
      described(drawn.truth, solve(estimator.state(), estimator.settings().solve).report));
  return estimator;
}

MomentTensor moments_of(const InstancePlan& plan, const Drawn& drawn) {
  MomentState state = MomentState::create({.layout = drawn.layout, .seed = plan.seed}).value();
  for (std::size_t i = 0; i < drawn.rows.size(); ++i) state.absorb(drawn.rows.row(i));
  return state.moments();
}

}  // namespace

std::string key_of(const InstancePlan& plan) {
  const Setting& setting = plan.setting;
  return fmt::format("{}{} k={} s2={} n={} seed={} attempts={}{}", setting.map, setting.cut ? " cut" : "",
                     setting.k, setting.noise_variances[0], plan.rows, plan.seed, plan.attempts,
                     plan.repeat_ours ? " repeated" : "");
}

Json run_others(const InstancePlan& plan) {
  const Drawn drawn = draw(plan.setting, plan.rows, plan.seed);
  const EmRuns runs(drawn.rows, plan.setting.noise(), has_many_laws(plan.setting));
  SharedEmRuns em(runs);
  Json result;
  result["mle"] = law_error(drawn.truth, runs.from_truth(drawn.truth).mixture);
  run_paper(plan, drawn, moments_of(plan, drawn), em, result);
  run_random_em(plan, drawn.truth, em, result);
  return result;
}

Json run_ours(const InstancePlan& plan) {
  const Drawn drawn = draw(plan.setting, plan.rows, plan.seed);
  Json result{{"refined", Json::array()}, {"polished", Json::array()}};
  const MomentTensor tensor = run_pass(plan, drawn, plan.seed, result).state().moments();
  for (int attempt = 1; plan.repeat_ours && attempt < plan.attempts; ++attempt)
    run_pass(plan, drawn, plan.seed + static_cast<std::uint64_t>(1000 * attempt), result);
  SpectralWorkspace workspace;
  const int k = static_cast<int>(plan.setting.k);
  result["start_known"] =
      error_or_null(drawn.truth, rank_start(tensor, k, noise_given(plan.setting), workspace));
  result["start"] = error_or_null(drawn.truth, rank_start(tensor, k, {}, workspace));
  return result;
}

}  // namespace experiments
