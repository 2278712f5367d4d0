#include "mixstream/refinement/judge.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <vector>

#include "mixstream/likelihood/em.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/refinement/standard_errors.hpp"
#include "mixstream/yield_point.hpp"

namespace mixstream {
namespace {

constexpr double rejected_right_fits = 1e-5;  // by J, were it exactly chi-square
// Nats a row that the sample may lose against the best candidate, whatever the fit says of its own errors: a
// noise variance that ran to zero calls any loss expected.
constexpr double largest_loss = 0.25;
constexpr double largest_line_error = 0.5;  // root mean square standard error of beta_h . x, against y
constexpr double deviance_spreads = 5.0;
constexpr int climbing_iterations = 10;
constexpr std::size_t score_rows = 600;  // enough rows for a trace

double with_spread(double expected) {
  return expected + deviance_spreads * std::sqrt(2.0 * expected);
}

}  // namespace

double largest_distance(double dof) {
  return boost::math::quantile(boost::math::complement(boost::math::chi_squared(dof), rejected_right_fits));
}

std::string Complaints::text() const {
  std::string text;
  const auto add = [&](bool bad, const char* name) {
    if (bad) text += (text.empty() ? "" : ", ") + std::string(name);
  };
  add(distance, "J");
  add(standard_errors, "standard errors");
  add(likelihood, "sample likelihood");
  add(noise, "noise of each law's own");
  add(count, "one law more");
  add(search, "other starts, which end in other laws,");
  return text;
}

Judge::Judge(const MomentTensor& tensor, const RowTable& sample)
    : sample_(sample),
      second_moment_(tensor.view(0, 1, 1)),
      response_size_(std::sqrt(tensor.view(2, 0, 0)(0, 0))) {
  double weight = 0.0;
  double squares = 0.0;
  for (const double w : sample.weights) {
    weight += w;
    squares += w * w;
  }
  sample_rows_ = squares > 0.0 ? weight * weight / squares : 0.0;
  // while the sample is the stream itself its weights are the rows' own, and a weight of 2 is two rows
  if (std::abs(weight - tensor.total_weight()) <= 1e-9 * weight) sample_rows_ = tensor.effective_rows;
}

void Judge::saw(double mean_log_likelihood) noexcept {
  best_ = std::max(best_, mean_log_likelihood);
}

double Judge::expected_deviance(const RefinedFit& fit, const DenseMatrix& covariance) const {
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
bool Judge::climbs_to_best(const RefinedFit& fit) const {
  const EmFit climbed =
      fit_em(sample_, fit.mixture, {.noise = fit.noise, .max_iterations = climbing_iterations});
  const double deviance = 2.0 * sample_rows_ * (best_ - climbed.mean_log_likelihood);
  return deviance < with_spread(static_cast<double>(fit.standard_errors.size()));
}

void Judge::judge(RefinedFit& fit) const {
  const DenseMatrix covariance = covariance_from(fit.information);
  const std::size_t d = fit.mixture.feature_count;
  double line_error = 0.0;
  for (std::size_t h = 0; h < fit.mixture.component_count(); ++h) {
    double variance = 0.0;  // E (x' C_h x)
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < d; ++j) variance += covariance(h * d + i, h * d + j) * second_moment_(i, j);
    }
    line_error = std::max(line_error, std::sqrt(std::max(variance, 0.0)));
  }
  yield_point();
  const double own = mean_log_likelihood(fit.mixture, sample_);
  fit.deviance = 2.0 * sample_rows_ * (std::max(best_, own) - own);
  const double dof = static_cast<double>(fit.dof);
  fit.complaints.distance = fit.dof > 0 && !(fit.distance < fit.expected_ratio * largest_distance(dof));
  fit.complaints.standard_errors = !(line_error < largest_line_error * response_size_);
  const bool far = !(fit.deviance < 2.0 * sample_rows_ * largest_loss);
  fit.complaints.likelihood =
      far || (!(fit.deviance < with_spread(expected_deviance(fit, covariance))) && !climbs_to_best(fit));
  fit.accepted = !fit.complaints.any();
}

}  // namespace mixstream
