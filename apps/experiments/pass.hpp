// One pass of the real estimator over a drawn stream, and what the spectral methods are told beside it.
#pragma once

#include <cmath>

#include "experiments/streams.hpp"
#include "mixstream/estimator.hpp"
#include "mixstream/likelihood/matching.hpp"
#include "mixstream/tensor/spectral.hpp"

namespace experiments {

/// An estimator for the setting's model, noise unknown.
inline Estimator estimator_for(const Setting& setting, const Layout& layout, std::uint64_t seed) {
  EstimatorSettings settings;
  settings.state.layout = layout;
  settings.state.seed = seed;
  settings.solve.component_count = setting.k;
  settings.solve.noise = setting.noise();
  settings.solve.seed = seed;
  settings.solve.feature_names = FeatureMap::parse(setting.map).value().names();
  return Estimator::create(settings).value();
}

/// What the paper's method is told: the noise variance, and to answer where its regressions are singular.
inline SpectralSettings noise_given(const Setting& setting) {
  SpectralSettings settings;
  settings.noise_variance = setting.noise_variances[0];
  settings.allow_singular = true;
  return settings;
}

/// Root mean square of (coefficient - true one) / standard error; for a report with laws and errors.
inline double in_own_errors(const Report& report, const Mixture& truth) {
  const std::vector<std::size_t> order = matching_order(truth, report.mixture());
  double squares = 0.0;
  for (std::size_t h = 0; h < order.size(); ++h) {
    const ComponentReport& component = report.components[order[h]];
    for (std::size_t j = 0; j < truth.feature_count; ++j) {
      const double gap = component.coefficients[j] - truth.law(h)[j];
      squares += std::pow(gap / component.coefficient_errors[j], 2.0);
    }
  }
  return std::sqrt(squares / static_cast<double>(truth.coefficients.size()));
}

inline void absorb_all(Estimator& estimator, const RowTable& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    estimator.absorb(rows.row(i));
    if (estimator.fit_is_due()) estimator.scheduled_fit();
  }
}

}  // namespace experiments
