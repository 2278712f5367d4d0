#include "mixstream/refinement/candidates.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/refinement/starts.hpp"
#include "mixstream/verdict/limits.hpp"

namespace mixstream {

RowTable every(const RowTable& rows, std::size_t stride) {
  RowTable thin{rows.feature_count, {}, {}, {}};
  for (std::size_t i = 0; i < rows.size(); i += stride) thin.add(rows.row(i));
  return thin;
}

bool is_known(const Mixture& mixture, std::span<const Mixture> seen, const DenseMatrix& second_moment) {
  return std::ranges::any_of(
      seen, [&](const Mixture& other) { return same_optimum(mixture, other, second_moment); });
}

std::vector<EmFit> ranked(std::vector<EmFit> optima, double likeliest, double rows, std::size_t parameters) {
  std::ranges::stable_sort(optima, [](const EmFit& one, const EmFit& two) {
    return one.mean_log_likelihood > two.mean_log_likelihood;
  });
  std::erase_if(optima, [&](const EmFit& fit) {
    return 2.0 * rows * (likeliest - fit.mean_log_likelihood) >
           limits::hopeless_deviance * static_cast<double>(parameters);
  });
  return optima;
}

bool beats(const RefinedFit& one, const RefinedFit& two, bool sample_is_stream) noexcept {
  if (one.accepted != two.accepted) return one.accepted;
  if (!one.accepted || sample_is_stream) return one.deviance < two.deviance;
  if (one.condition_count != two.condition_count) return one.condition_count > two.condition_count;
  return one.distance < two.distance;
}

std::vector<RefinedFit> near_in_distance(const RefinedFit& best, std::vector<RefinedFit> fits) {
  const auto excess = [](const RefinedFit& fit) { return fit.distance - static_cast<double>(fit.dof); };
  double least = excess(best);
  for (const RefinedFit& fit : fits) least = std::min(least, excess(fit));
  std::erase_if(fits, [&](const RefinedFit& fit) { return excess(fit) > least + limits::near_distance; });
  return fits;
}

std::vector<Mixture> filled_up(const MomentTensor& tensor, std::size_t component_count,
                               std::span<const Mixture> starts, int number,
                               const std::vector<double>& known_noise, Random& random) {
  std::vector<Mixture> result(starts.begin(), starts.end());
  const auto wanted = static_cast<std::size_t>(number);
  if (result.size() >= wanted) return result;
  for (Mixture& start : random_starts(tensor, component_count, wanted - result.size(), random)) {
    if (!known_noise.empty()) start.noise_variances = known_noise;
    result.push_back(std::move(start));
  }
  return result;
}

double bic_gain(const EmFit& richer, const EmFit& own, NoiseModel noise, double rows) noexcept {
  const std::size_t d = own.mixture.feature_count;
  const double least_weight = std::ranges::min(richer.mixture.weights);
  const auto [narrowest, widest] = std::ranges::minmax(richer.mixture.noise_variances);
  // A line through as many rows as it has coefficients always fits: twice as many must bear it out.
  const double fewest = 2.0 * static_cast<double>(d + 1);
  if (least_weight * rows < fewest || narrowest < 1e-4 * widest) return FitEvidence::not_asked;
  const NoiseModel wider = narrowest < widest ? NoiseModel::per_component : noise;
  const auto parameters = static_cast<double>(parameter_count(richer.mixture.component_count(), d, wider) -
                                              parameter_count(own.mixture.component_count(), d, noise));
  const double gain = 2.0 * rows * (richer.mean_log_likelihood - own.mean_log_likelihood);
  return gain - parameters * std::log(rows);
}

}  // namespace mixstream
