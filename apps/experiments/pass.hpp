// One pass of the real estimator over a drawn stream, and what the spectral methods are told beside it.
#pragma once

#include "experiments/streams.hpp"
#include "mixstream/estimator.hpp"
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

inline void absorb_all(Estimator& estimator, const RowTable& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    estimator.absorb(rows.row(i));
    if (estimator.fit_is_due()) estimator.scheduled_fit();
  }
}

}  // namespace experiments
