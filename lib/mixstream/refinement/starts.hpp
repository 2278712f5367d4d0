// Starts for refinement: random ones in the scale of the data, and care for those of others.
#pragma once

#include <cstddef>
#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/core/random.hpp"
#include "mixstream/moments/tensor.hpp"

namespace mixstream {

/// Coefficients drawn in whitened coordinates, scaled to the response; weights equal; noise 2 to 30% of E
/// y^2.
std::vector<Mixture> random_starts(const MomentTensor& tensor, std::size_t component_count,
                                   std::size_t number, Random& random);

/// The start with lines that do not exceed the size of y by much, and noise of at most that size (untouched
/// when `keep_noise`).
Mixture tamed(const MomentTensor& tensor, Mixture start, bool keep_noise);

/// Whether two mixtures are the same optimum seen twice: their lines, matched greedily, differ by less than a
/// small share of the noise, root mean square over the rows behind `second_moment` (Sigma_1, d x d).
bool same_optimum(const Mixture& one, const Mixture& two, const DenseMatrix& second_moment);

}  // namespace mixstream
