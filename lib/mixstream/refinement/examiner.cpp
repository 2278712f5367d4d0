#include "mixstream/refinement/examiner.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/likelihood/em.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/refinement/standard_errors.hpp"
#include "mixstream/verdict/limits.hpp"

namespace mixstream {
namespace {

constexpr int climbing_iterations = 10;
constexpr std::size_t score_rows = 600;  // enough rows for a trace

}  // namespace

double rows_of_sample(const MomentTensor& tensor, const RowTable& sample) noexcept {
  double weight = 0.0;
  double squares = 0.0;
  for (const double w : sample.weights) {
    weight += w;
    squares += w * w;
  }
  if (std::abs(weight - tensor.total_weight()) <= 1e-9 * weight) return tensor.effective_rows;
  return squares > 0.0 ? weight * weight / squares : 0.0;
}

Examiner::Examiner(const MomentTensor& tensor, const RowTable& sample)
    : sample_(sample),
      second_moment_(tensor.view(0, 1, 1)),
      response_size_(std::sqrt(tensor.view(2, 0, 0)(0, 0))),
      sample_rows_(rows_of_sample(tensor, sample)) {}

double Examiner::expected_deviance(const RefinedFit& fit, const DenseMatrix& covariance) const {
  const std::size_t parameters = covariance.rows;
  const std::size_t stride = std::max<std::size_t>(1, sample_.size() / score_rows);
  std::vector<double> probabilities(fit.mixture.component_count());
  std::vector<double> score(parameters);
  double trace = 0.0;  // sum of w s' C s
  double weight = 0.0;
  for (std::size_t i = 0; i < sample_.size(); i += stride) {
    if (i / stride % 64 == 0) yield_point();
    row_score(fit.mixture, sample_.row(i), fit.noise, probabilities, score);
    const double error = standard_error(covariance, score);
    trace += sample_.weights[i] * error * error;
    weight += sample_.weights[i];
  }
  return static_cast<double>(parameters) + sample_rows_ * trace / weight;
}

/// Where noise variances are poorly determined a right fit can look unlikely; EM from it then soon makes up.
double Examiner::climbed_deviance(const RefinedFit& fit, double likeliest) const {
  const EmFit climbed =
      fit_em(sample_, fit.mixture, {.noise = fit.noise, .max_iterations = climbing_iterations});
  return 2.0 * sample_rows_ * (likeliest - climbed.mean_log_likelihood);
}

/// The root of E (x' C_h x), of the law where it is largest, as a share of y's size.
double Examiner::line_error(const RefinedFit& fit, const DenseMatrix& covariance) const {
  const std::size_t d = fit.mixture.feature_count;
  double largest = 0.0;
  for (std::size_t h = 0; h < fit.mixture.component_count(); ++h) {
    double variance = 0.0;
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < d; ++j) variance += covariance(h * d + i, h * d + j) * second_moment_(i, j);
    }
    largest = std::max(largest, variance);
  }
  return std::sqrt(largest) / response_size_;
}

RefinedFit Examiner::examined(RefinedFit fit, double likeliest) const {
  const DenseMatrix covariance = covariance_from(fit.information);
  fit.line_error = line_error(fit, covariance);
  fit.parameters = static_cast<double>(covariance.rows);
  yield_point();
  const double own = mean_log_likelihood(fit.mixture, sample_);
  fit.loss = std::max(likeliest, own) - own;
  fit.deviance = 2.0 * sample_rows_ * fit.loss;
  fit.expected_deviance = expected_deviance(fit, covariance);
  const bool asked =
      fit.loss < limits::largest_loss && !(fit.deviance < limits::largest_deviance(fit.expected_deviance));
  fit.climbed_deviance = asked ? climbed_deviance(fit, likeliest) : fit.deviance;
  fit.conclude();
  return fit;
}

}  // namespace mixstream
