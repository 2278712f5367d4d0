// How far a mixture lies from a refined fit, in the refined fit's own errors.
#pragma once

#include "mixstream/core/mixture.hpp"
#include "mixstream/refinement/refine.hpp"
#include "mixstream/verdict/limits.hpp"

namespace mixstream {

/// (theta - theta_r)' I_r (theta - theta_r) / P after matching labels: about 1 or less when both estimate the
/// same thing. Infinite when the models differ. Allocates.
double hausman_distance(const RefinedFit& refined, const Mixture& mixture);

/// The same for the fit that the refinement began at, a polish: by J there where it was taken, since along a
/// bent valley the quadratic form exaggerates; otherwise by that.
double parting(const RefinedFit& refined, const Mixture& polished);

/// The largest distance of two estimates of the same thing. `limit` is for many parameters; few scatter more
/// widely about their mean of one: the chance of a false alarm stays below one in a million from two
/// parameters on. No throw.
double hausman_limit(std::size_t parameter_count, double limit = limits::largest_parting) noexcept;

/// Whether the refined fit and the polish that it began at lie further apart than two estimates of the same
/// thing: J there exceeds the least J by more than a chi-square of P does in one right fit of 100,000, or,
/// where it was not taken, their distance exceeds hausman_limit(P, limit). Allocates; P^2 products.
bool lies_apart(const RefinedFit& refined, const Mixture& polished, double limit = limits::largest_parting);

/// Whether the refined fit was found from another start than the polish, and lies apart from it by their
/// distance: another valley of J, as deep or deeper. Allocates.
bool found_elsewhere(const RefinedFit& refined, const Mixture& polished);

/// Whether J of the moments would reject the polish where it accepts the refined fit: J there, or to second
/// order the refined fit's and its Hausman distance. Never where only y, y^2 and y^3 were matched: the
/// noise is not Gaussian then, and the scores may differ. Allocates; P^2 products.
bool moments_reject(const RefinedFit& refined, const Mixture& polished);

}  // namespace mixstream
