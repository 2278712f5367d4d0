// Which component of one mixture is which of another.
#pragma once

#include <cstddef>
#include <vector>

#include "mixstream/mixture.hpp"

namespace mixstream {

/// The order that brings the mixture's laws nearest to the reference's: the sum of |beta_h -
/// beta'_order[h]|^2 is least over all labellings. relabelled(mixture, order) then has the reference's
/// labels. Cost k^3 + k^2 d.
std::vector<std::size_t> matching_order(const Mixture& reference, const Mixture& mixture);

}  // namespace mixstream
