// One law is least squares: the weighted one of the state, from its moments of order two, with its own
// errors.
#include <cmath>
#include <limits>

#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/linalg/packed.hpp"
#include "mixstream/linalg/pivoted_cholesky.hpp"
#include "mixstream/refinement/examiner.hpp"
#include "mixstream/refinement/fit_conditions.hpp"
#include "mixstream/solving/task.hpp"

namespace mixstream::solving {
namespace {

/// beta = Sigma_1^-1 E[x y], s2 = E[y^2] - beta . E[x y], in pilot coordinates.
Mixture least_squares_law(const Task& task) {
  const std::size_t d = task.feature_count();
  Mixture law = empty_mixture(1, d);
  law.weights[0] = 1.0;
  const DenseMatrix cross = task.tensor.view(1, 1, 0);
  law.coefficients = cross.values;
  PivotedCholesky factor(d);
  if (factor.factor(packed_from(task.tensor.view(0, 1, 1))) < d)
    throw std::runtime_error("the features are nearly dependent");
  factor.solve(law.law(0));
  double residual = task.tensor.view(2, 0, 0)(0, 0);
  const double least = 1e-14 * residual;
  for (std::size_t j = 0; j < d; ++j) residual -= law.coefficients[j] * cross.values[j];
  law.noise_variances[0] =
      task.settings.noise == NoiseModel::known ? task.pilot_noise() : std::max(residual, least);
  return law;
}

/// E[e^4] / s2^2 of the sample: how uncertain a variance is. Gaussian: 3.
double kurtosis(const Mixture& law, const RowTable& sample) {
  double fourth = 0.0;
  double total = 0.0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const Row row = sample.row(i);
    double residual = row.response;
    for (std::size_t j = 0; j < row.features.size(); ++j) residual -= law.coefficients[j] * row.features[j];
    fourth += row.weight * std::pow(residual, 4);
    total += row.weight;
  }
  const double variance = law.noise_variances[0];
  return total > 0.0 ? fourth / total / (variance * variance) : 3.0;
}

/// Inverse covariance of (beta, log s2): n Sigma_1 / s2, and n / (kurtosis - 1).
DenseMatrix information_of(const Task& task, const Mixture& law) {
  const std::size_t d = task.feature_count();
  const std::size_t size = d + (task.settings.noise == NoiseModel::known ? 0 : 1);
  const DenseMatrix second = task.tensor.view(0, 1, 1);
  const double rows = task.tensor.effective_rows;
  DenseMatrix information{size, size, std::vector<double>(size * size)};
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) information(i, j) = rows * second(i, j) / law.noise_variances[0];
  }
  if (size > d) information(d, d) = rows / std::max(kurtosis(law, task.solution.sample) - 1.0, 1e-3);
  return information;
}

/// The law with its J, where there are moments enough to take it.
RefinedFit measured(const Task& task, RefinedFit fit) {
  const Conditions conditions(task.tensor, task.solution.sample,
                              choose_conditions(task.layout, RefineSettings{}.largest_condition_count));
  const SamplePrior known{to_parameters(fit.mixture, fit.noise), fit.information};
  const auto taken =
      fit_conditions(conditions, fit.mixture, {.noise = fit.noise, .rounds = 0, .prior = &known});
  if (taken) {
    fit.distance = taken.value().distance;
    fit.dof = taken.value().dof;
    fit.expected_ratio = taken.value().expected_ratio;
    fit.p_value = taken.value().p_value;
    fit.conditions = taken.value().conditions;
    fit.condition_count = taken.value().condition_count;
  }
  return Examiner(task.tensor, task.solution.sample)
      .examined(std::move(fit), -std::numeric_limits<double>::infinity());
}

}  // namespace

void fit_one_law(Task& task) {
  RefinedFit fit;
  fit.noise = task.settings.noise == NoiseModel::known ? NoiseModel::known : NoiseModel::shared;
  fit.mixture = least_squares_law(task);
  fit.information = information_of(task, fit.mixture);
  fit.likeliest = true;
  const DenseMatrix covariance = covariance_from(fit.information);
  for (std::size_t i = 0; i < covariance.rows; ++i)
    fit.standard_errors.push_back(std::sqrt(std::max(covariance(i, i), 0.0)));
  fit = measured(task, std::move(fit));
  const MixtureErrors errors =
      raw_mixture_errors(fit.mixture, fit.noise, covariance, task.layout, task.tensor.pilot());
  fit.by_likelihood = task.evidence.laws_by_likelihood = !fit.accepted;
  task.evidence.moments = fit;
  task.report().stage = FitStage::polished;
  if (fit.dof > 0)
    task.report().moment_test = {fit.distance, fit.dof, fit.p_value, fit.expected_ratio, fit.conditions};
  take(task, task.in_raw(fit.mixture), &errors);
  task.solution.shape = shape_of(task.settings, task.layout);
  task.solution.model = model_from(fit.mixture, task.solution.shape);
  task.solution.laws = {fit.mixture};
  task.solution.refined = std::move(fit);
  conclude(task);
}

}  // namespace mixstream::solving
