#include "mixstream/likelihood/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mixstream/rows/reservoir.hpp"

namespace mixstream {
namespace {

// Beyond these a logarithm is infinite or a quotient by the variance overflows.
constexpr double least_positive = std::numeric_limits<double>::min();
constexpr double greatest_log_variance = 700.0;

double safe_log(double positive) {
  return std::log(std::max(positive, least_positive));
}

std::size_t variance_parameters(std::size_t component_count, NoiseModel noise) noexcept {
  if (noise == NoiseModel::known) return 0;
  return noise == NoiseModel::shared ? 1 : component_count;
}

}  // namespace

std::size_t parameter_count(std::size_t component_count, std::size_t feature_count,
                            NoiseModel noise) noexcept {
  return component_count * feature_count + component_count - 1 + variance_parameters(component_count, noise);
}

bool is_crowded(std::size_t component_count, std::size_t parameters) noexcept {
  return component_count >= many_laws && parameters > 25;
}

std::size_t sample_rows_for(std::size_t component_count, std::size_t parameters) noexcept {
  if (!is_crowded(component_count, parameters)) return usual_sample_rows;
  return (parameters > 50 ? 4 : 2) * usual_sample_rows;
}

std::vector<double> to_parameters(const Mixture& mixture, NoiseModel noise) {
  const std::size_t k = mixture.component_count();
  std::vector<double> parameters = mixture.coefficients;
  parameters.reserve(parameter_count(k, mixture.feature_count, noise));
  const double last = safe_log(mixture.weights[k - 1]);
  for (std::size_t h = 0; h + 1 < k; ++h) parameters.push_back(safe_log(mixture.weights[h]) - last);
  const std::size_t variances = variance_parameters(k, noise);
  for (std::size_t h = 0; h < variances; ++h) parameters.push_back(safe_log(mixture.noise_variances[h]));
  return parameters;
}

void from_parameters(std::span<const double> parameters, NoiseModel noise, Mixture& mixture) noexcept {
  const std::size_t k = mixture.component_count();
  const std::size_t laws = k * mixture.feature_count;
  std::copy_n(parameters.begin(), laws, mixture.coefficients.begin());
  const auto odds = parameters.subspan(laws, k - 1);
  const double largest = odds.empty() ? 0.0 : std::max(0.0, *std::ranges::max_element(odds));
  double total = 0.0;
  for (std::size_t h = 0; h < k; ++h) {
    mixture.weights[h] = std::exp((h + 1 < k ? odds[h] : 0.0) - largest);
    total += mixture.weights[h];
  }
  for (double& weight : mixture.weights) weight /= total;
  if (noise == NoiseModel::known) return;
  const auto variances = parameters.subspan(laws + k - 1);
  for (std::size_t h = 0; h < k; ++h) {
    const double logarithm = variances[noise == NoiseModel::shared ? 0 : h];
    mixture.noise_variances[h] =
        std::exp(std::clamp(logarithm, -greatest_log_variance, greatest_log_variance));
  }
}

}  // namespace mixstream
