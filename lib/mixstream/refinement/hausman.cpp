#include "mixstream/refinement/hausman.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "mixstream/likelihood/matching.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/linalg/products.hpp"
#include "mixstream/refinement/examiner.hpp"

namespace mixstream {
namespace {

/// J/dof, by which the information is divided.
double spread(const RefinedFit& refined) noexcept {
  return refined.dof > 0 ? std::max(1.0, refined.distance / static_cast<double>(refined.dof)) : 1.0;
}

double parameters_of(const RefinedFit& refined) noexcept {
  return static_cast<double>(refined.information.rows);
}

}  // namespace

double hausman_distance(const RefinedFit& refined, const Mixture& mixture) {
  if (refined.mixture.feature_count != mixture.feature_count ||
      refined.mixture.component_count() != mixture.component_count())
    return std::numeric_limits<double>::infinity();
  const std::vector<double> theirs = to_parameters(refined.mixture, refined.noise);
  std::vector<double> gap =
      to_parameters(relabelled(mixture, matching_order(refined.mixture, mixture)), refined.noise);
  for (std::size_t i = 0; i < gap.size(); ++i) gap[i] -= theirs[i];
  return quadratic_form(refined.information, gap) / static_cast<double>(gap.size());
}

double parting(const RefinedFit& refined, const Mixture& polished) {
  if (!refined.previous_distance) return hausman_distance(refined, polished);
  const double excess = std::max(0.0, *refined.previous_distance - refined.distance);
  return excess / (spread(refined) * parameters_of(refined));
}

double hausman_limit(std::size_t parameter_count, double limit) noexcept {
  return limit * (1.0 + 3.0 / static_cast<double>(parameter_count));
}

bool lies_apart(const RefinedFit& refined, const Mixture& polished, double limit) {
  const double apart = parting(refined, polished);
  if (!refined.previous_distance) return !(apart < hausman_limit(refined.information.rows, limit));
  const double parameters = parameters_of(refined);
  return !(apart * parameters < refined.usual_ratio() * largest_distance(parameters));
}

bool found_elsewhere(const RefinedFit& refined, const Mixture& polished) {
  return refined.elsewhere &&
         !(hausman_distance(refined, polished) < hausman_limit(refined.information.rows));
}

bool moments_reject(const RefinedFit& refined, const Mixture& polished) {
  if (refined.dof == 0 || refined.cubic) return false;
  const double distance =
      refined.distance + spread(refined) * parameters_of(refined) * parting(refined, polished);
  return !(distance <
           refined.expected_ratio * largest_distance(static_cast<double>(refined.condition_count)));
}

}  // namespace mixstream
