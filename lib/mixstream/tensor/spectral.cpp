#include "mixstream/tensor/spectral.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mixstream/linalg/products.hpp"
#include "mixstream/tensor/workspace.hpp"

namespace mixstream {

const char* name_of(SpectralWarning warning) noexcept {
  switch (warning) {
    case SpectralWarning::singular_regression:
      return "singular_regression";
    case SpectralWarning::underdetermined:
      return "underdetermined";
    case SpectralWarning::clamped_eigenvalue:
      return "clamped_eigenvalue";
    case SpectralWarning::clamped_weight:
      return "clamped_weight";
    case SpectralWarning::lost_component:
      return "lost_component";
    case SpectralWarning::noise_at_bound:
      return "noise_at_bound";
    case SpectralWarning::not_converged:
      return "not_converged";
  }
  return "unknown";
}

bool SpectralFit::warns(SpectralWarning warning) const noexcept {
  return std::ranges::find(warnings, warning) != warnings.end();
}

std::optional<PaperStart> SpectralFit::paper_start() const {
  if (!second || !third) return {};
  return PaperStart{second->start(), third->start()};
}

void warn(SpectralFit& fit, SpectralWarning warning) {
  if (!fit.warns(warning)) fit.warnings.push_back(warning);
}

SpectralWorkspace::SpectralWorkspace() : content_(std::make_unique<Content>()) {}
SpectralWorkspace::~SpectralWorkspace() = default;
SpectralWorkspace::SpectralWorkspace(SpectralWorkspace&&) noexcept = default;
SpectralWorkspace& SpectralWorkspace::operator=(SpectralWorkspace&&) noexcept = default;

namespace {

bool bad_settings(int components, const SpectralSettings& settings) {
  const auto positive = [](double value) { return std::isfinite(value) && value > 0.0; };
  const auto penalty = [](double value) { return std::isfinite(value) && value >= 0.0; };
  return (settings.noise_variance && !positive(*settings.noise_variance)) ||
         !std::isfinite(settings.noise_third) || !penalty(settings.second_penalty) ||
         !penalty(settings.third_penalty) || settings.admm_iterations < 1 ||
         !positive(settings.admm_tolerance) || settings.regression_starts < 1 ||
         settings.regression_iterations < 1 || settings.power_restarts < 1 || settings.power_iterations < 1 ||
         !(settings.least_weight >= 0.0) || !(settings.least_weight * components < 1.0);
}

}  // namespace

std::optional<Refusal> refused_request(const MomentTensor& tensor, int components,
                                       const SpectralSettings& settings) {
  const int d = tensor.layout().feature_count;
  if (components < 1) return Refusal{Reason::bad_settings, "k must be at least 1: ask for one law or more"};
  if (d < 1) return Refusal{Reason::wrong_shape, "there are no features: name at least one"};
  if (d > largest_solved_dimension) {
    const auto n = *monomial_count(static_cast<std::uint64_t>(d), 3);
    return Refusal{Reason::too_large, "solving is supported to 32 features; " + std::to_string(d) +
                                          " would mean systems of " + std::to_string(n) + " unknowns, " +
                                          std::to_string(n * n * 8 / 1000000) +
                                          " MB each: leave features out"};
  }
  if (bad_settings(components, settings)) {
    return Refusal{
        Reason::bad_settings,
        "a spectral setting is out of range: noise variance and tolerance must be positive, penalties "
        "not negative, iterations and starts at least 1, the least weight below 1/k"};
  }
  if (!settings.feature_names.empty() && settings.feature_names.size() != static_cast<std::size_t>(d)) {
    return Refusal{
        Reason::wrong_shape,
        "the number of feature names is not the number of features: give one name per feature, or none"};
  }
  const auto finite = [](double sum) { return std::isfinite(sum); };
  if (!std::ranges::all_of(tensor.sums(), finite)) {
    return Refusal{Reason::numerical, "the moments are not finite: rescale the columns"};
  }
  const double unknowns = static_cast<double>(components) * (d + 1);
  if (!(tensor.total_weight() > 0.0) || !(tensor.effective_rows > unknowns)) {
    return Refusal{Reason::too_few_rows, std::to_string(components) + " laws of " + std::to_string(d) +
                                             " features have " + std::to_string(static_cast<int>(unknowns)) +
                                             " unknowns: wait for more rows than that"};
  }
  return std::nullopt;
}

std::optional<Refusal> refused_residual(const FirstMoment& first, std::optional<double> known) {
  if (!(first.residual_square > 1e-13 * first.response_square)) {
    return Refusal{Reason::not_identifiable,
                   "y is an exact linear function of x (a constant y among them): there is neither noise nor "
                   "mixture to find; check which column is y"};
  }
  if (known && *known > 2.0 * first.residual_square) {
    return Refusal{
        Reason::bad_settings,
        "the given noise variance is more than twice what one law leaves unexplained: give it in the "
        "units of y squared, or leave it to be estimated"};
  }
  return std::nullopt;
}

std::vector<double> second_spectrum_of(const Mixture& mixture) {
  const std::size_t d = mixture.feature_count;
  DenseMatrix second{d, d, std::vector<double>(d * d)};
  for (std::size_t h = 0; h < mixture.component_count(); ++h) {
    for (std::size_t a = 0; a < d; ++a) {
      for (std::size_t b = 0; b < d; ++b) {
        second(a, b) += mixture.weights[h] * mixture.law(h)[a] * mixture.law(h)[b];
      }
    }
  }
  SymmetricEigen eigen;
  if (!eigen.decompose_values(second)) return {};
  std::ranges::reverse(eigen.values);
  return eigen.values;
}

double law_difference(const Mixture& left, const Mixture& right) {
  const std::size_t k = left.component_count();
  std::vector<bool> taken(k, false);
  double total = 0.0;
  for (std::size_t h = 0; h < k; ++h) {
    double nearest = std::numeric_limits<double>::infinity();
    std::size_t partner = 0;
    for (std::size_t g = 0; g < k; ++g) {
      if (taken[g]) continue;
      double distance = 0.0;
      for (std::size_t a = 0; a < left.feature_count; ++a) {
        const double difference = left.law(h)[a] - right.law(g)[a];
        distance += difference * difference;
      }
      if (distance < nearest) {
        nearest = distance;
        partner = g;
      }
    }
    taken[partner] = true;
    total += nearest;
  }
  const double size = norm(left.coefficients);
  return size > 0.0 ? std::sqrt(total) / size : 0.0;
}

}  // namespace mixstream
