#include "mixstream/refinement/sample_prior.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/polish/polish.hpp"

namespace mixstream {

std::optional<SamplePrior> sample_prior(const Mixture& optimum, const RowTable& sample, NoiseModel noise) {
  const std::size_t size = parameter_count(optimum.component_count(), optimum.feature_count, noise);
  const DenseMatrix nothing{size, size, std::vector<double>(size * size)};
  AnchoredPolish step(optimum, nothing, noise, {.move_every = std::numeric_limits<std::uint64_t>::max()});
  for (std::size_t i = 0; i < sample.size(); ++i) {
    if (i % 512 == 0) yield_point();
    step.absorb(sample.row(i));
  }
  PolishedFit fit = step.fit();
  SamplePrior prior{std::move(fit.parameters), std::move(fit.information)};
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!std::ranges::all_of(prior.centre, finite) || !std::ranges::all_of(prior.information.values, finite))
    return {};
  return prior;
}

}  // namespace mixstream
