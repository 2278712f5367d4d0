#include "mixstream/likelihood/likelihood_gain.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/likelihood/expectation.hpp"

namespace mixstream {

double LikelihoodGain::deviations() const noexcept {
  if (standard_error > 0.0 && std::isfinite(standard_error)) return mean / standard_error;
  return mean == 0.0 ? 0.0 : std::copysign(std::numeric_limits<double>::infinity(), mean);
}

LikelihoodGain likelihood_gain(const Mixture& mixture, const Mixture& rival, const RowTable& sample) {
  constexpr std::size_t block_rows = variants::em_block_rows;
  Expectation ours(mixture.component_count(), mixture.feature_count);
  Expectation theirs(rival.component_count(), rival.feature_count);
  ours.begin(mixture);
  theirs.begin(rival);
  std::vector<double> block((sample.feature_count + 2) * block_rows);
  std::vector<double> differences(sample.size());
  double weight = 0.0;
  double sum = 0.0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    if (i % block_rows == 0) {
      if (i % (4 * block_rows) == 0) yield_point();
      fill_block(sample, i, block.data());
      ours.add_likelihood(block.data());
      theirs.add_likelihood(block.data());
    }
    differences[i] = ours.log_densities()[i % block_rows] - theirs.log_densities()[i % block_rows];
    weight += sample.weights[i];
    sum += sample.weights[i] * differences[i];
  }
  if (!(weight > 0.0)) return {};
  LikelihoodGain gain{sum / weight, 0.0};
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double part = sample.weights[i] * (differences[i] - gain.mean) / weight;
    gain.standard_error += part * part;
  }
  gain.standard_error = std::sqrt(gain.standard_error);
  return gain;
}

}  // namespace mixstream
