// Which component is which: a mixture has no order of its own, its users want one that stays.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mixstream/core/mixture.hpp"

namespace mixstream {

/// The order (for `relabelled`) that brings the mixture's laws nearest to the reference's, component by
/// component: least sum of (b - b')' metric (b - b'), a true minimum over all labellings. metric: d x d,
/// symmetric, such as Sigma_1 (differences then count as they move y); empty: plain coefficients. The numbers
/// of components may differ: matched ones come first, in the reference's order, then those without a partner.
/// Both have the same d. Allocates; cost k^2 d^2 + k^3.
std::vector<std::size_t> matching_order(const Mixture& reference, const Mixture& mixture,
                                        std::span<const double> metric = {});

/// |B* - B|_F, minimised over labellings. Throws std::invalid_argument unless k and d agree.
double coefficient_error(const Mixture& truth, const Mixture& mixture);

}  // namespace mixstream
