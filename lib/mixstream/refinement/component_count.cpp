#include "mixstream/refinement/component_count.hpp"

#include "mixstream/refinement/examiner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "mixstream/likelihood/em.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/refinement/conditions.hpp"
#include "mixstream/refinement/fit_conditions.hpp"
#include "mixstream/refinement/starts.hpp"

namespace mixstream {
namespace {

/// The optimum for k - 1 laws, and one law more from a random start.
Mixture with_one_more(const Mixture& mixture, const Mixture& random) {
  Mixture result = mixture;
  const double share = 1.0 / static_cast<double>(mixture.component_count() + 1);
  for (double& weight : result.weights) weight *= 1.0 - share;
  result.weights.push_back(share);
  result.coefficients.insert(result.coefficients.end(), random.law(0).begin(), random.law(0).end());
  result.noise_variances.push_back(mixture.noise_variances.front());
  return result;
}

EmFit best_of(const RowBlocks& rows, const MomentTensor& tensor, std::size_t k, const Mixture* smaller,
              const ComponentCountSettings& settings, Random& random) {
  std::vector<Mixture> starts = random_starts(tensor, k, static_cast<std::size_t>(settings.starts), random);
  if (smaller) {
    for (std::size_t i = 0; i < 2 && i < starts.size(); ++i)
      starts.push_back(with_one_more(*smaller, starts[i]));
  }
  EmFit best;
  best.mean_log_likelihood = -std::numeric_limits<double>::infinity();
  for (Mixture& start : starts) {
    if (settings.noise == NoiseModel::known) {
      start.noise_variances.assign(k, settings.known_noise_variance);
    }
    EmFit fit =
        fit_em(rows, start, {.noise = settings.noise, .max_iterations = 300, .stop_below_gain = 1e-7});
    if (fit.mean_log_likelihood > best.mean_log_likelihood) best = std::move(fit);
  }
  return best;
}

void match_moments(const Conditions& conditions, NoiseModel noise, ComponentCandidate& candidate) {
  if (conditions.size() <= candidate.parameters) return;
  const auto fit = fit_conditions(conditions, candidate.mixture, {.noise = noise});
  if (!fit) return;
  candidate.matched = true;
  candidate.distance = fit.value().distance;
  candidate.dof = fit.value().dof;
  candidate.p_value = fit.value().p_value;
}

ComponentCount counted(const MomentTensor& tensor, const RowTable& sample,
                       const ComponentCountSettings& settings) {
  const RowBlocks rows(sample);
  const Conditions conditions(tensor, sample,
                              choose_conditions(tensor.layout(), settings.largest_condition_count));
  const double count = rows_of_sample(tensor, sample);
  Random random(settings.seed);
  ComponentCount result;
  result.rows = count;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 1; k <= settings.largest; ++k) {
    const Mixture* smaller = result.candidates.empty() ? nullptr : &result.candidates.back().mixture;
    EmFit fit = best_of(rows, tensor, k, smaller, settings, random);
    ComponentCandidate candidate{.component_count = k, .mixture = std::move(fit.mixture)};
    candidate.parameters = parameter_count(k, sample.feature_count, settings.noise);
    candidate.mean_log_likelihood = fit.mean_log_likelihood;
    candidate.bic =
        -2.0 * fit.mean_log_likelihood + static_cast<double>(candidate.parameters) * std::log(count) / count;
    match_moments(conditions, settings.noise, candidate);
    if (candidate.bic < least) {
      least = candidate.bic;
      result.component_count = k;
    }
    result.candidates.push_back(std::move(candidate));
    if (k >= result.component_count + static_cast<std::size_t>(settings.patience)) break;
  }
  return result;
}

}  // namespace

Outcome<ComponentCount> choose_component_count(const MomentTensor& tensor, const RowTable& sample,
                                               const ComponentCountSettings& settings) {
  if (settings.largest == 0) return Refusal{Reason::bad_settings, "the largest k must be at least 1"};
  if (sample.feature_count != static_cast<std::size_t>(tensor.layout().feature_count)) {
    return Refusal{Reason::wrong_shape, "the sample's rows do not have the tensor's number of features"};
  }
  if (sample.size() < 2 || !(tensor.effective_rows > 0.0)) {
    return Refusal{Reason::too_few_rows, "choosing k needs rows; absorb some first"};
  }
  try {
    return counted(tensor, sample, settings);
  } catch (const std::runtime_error& error) {
    return Refusal{Reason::numerical, std::string(error.what()) + "; look for outliers"};
  }
}

}  // namespace mixstream
