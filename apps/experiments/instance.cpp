#include "experiments/instance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "experiments/em_runs.hpp"
#include "experiments/pass.hpp"
#include "mixstream/tensor/spectral.hpp"

namespace experiments {
namespace {

Json described(const Mixture& truth, const EmFit& fit) {
  return {{"error", law_error(truth, fit.mixture)},
          {"log_likelihood", fit.mean_log_likelihood},
          {"iterations", fit.iterations}};
}

bool nearly_equal(const Mixture& one, const Mixture& two) {
  for (std::size_t i = 0; i < one.coefficients.size(); ++i) {
    if (std::abs(one.coefficients[i] - two.coefficients[i]) > 1e-6 * (1.0 + std::abs(one.coefficients[i])))
      return false;
  }
  return true;
}

/// The paper's method and EM from it, once an attempt: the power method's starts differ. Attempts that found
/// the same laws share one EM.
void run_paper(const InstancePlan& plan, const Drawn& drawn, const MomentTensor& tensor, SharedEmRuns& em,
               Json& result) {
  SpectralWorkspace workspace;
  SpectralSettings settings = noise_given(plan.setting);
  std::optional<SpectralFit> last;
  result["spectral"] = Json::array();
  result["spectral_em"] = Json::array();
  for (int attempt = 0; attempt < plan.attempts; ++attempt) {
    settings.seed = plan.seed + static_cast<std::uint64_t>(attempt);
    const Outcome<SpectralFit> fit = paper_estimate(tensor, static_cast<int>(plan.setting.k), settings,
                                                    workspace, last ? &*last : nullptr);
    if (!fit) {
      result["spectral"].push_back(nullptr);
      result["spectral_em"].push_back(nullptr);
      continue;
    }
    const bool same = last && nearly_equal(last->mixture, fit.value().mixture);
    result["spectral"].push_back(law_error(drawn.truth, fit.value().mixture));
    result["spectral_em"].push_back(same ? Json(result["spectral_em"].back())
                                         : described(drawn.truth, em.from(fit.value().mixture)));
    last = fit.value();
  }
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
      described(drawn.truth, solve(estimator.state(), estimator.settings().solve, nullptr, nullptr).report));
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
