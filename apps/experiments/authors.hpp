// What the authors' programs of 2013 did otherwise than the paper says, as far as their text shows it.
//
// M3 was solved for by a MATLAB program whose tensor need not be symmetric, and whose three unfoldings were,
// by a slip, all the first: of a tensor of which rows only tell the symmetric part, the nuclear norm of one
// unfolding was made small. The rest was Java. The tensor went there as one column of d^3 numbers, and entry
// (a, b, c) was read at place 2 d a + d b + c instead of d^2 a + d b + c. For d = 2 the two are one; from d =
// 3 on what was decomposed is another tensor than the one that was solved for.
#pragma once

#include <cstdint>

#include "mixstream/tensor/decomposition.hpp"
#include "mixstream/tensor/spectral.hpp"

namespace experiments {

/// M3 as the library finds it: symmetric.
mixstream::CubeTensor symmetric_third(const mixstream::SpectralFit& fit);

/// M3 of the same problem without symmetry; its first index is that of the unfolding. `raw`: the moments in
/// raw coordinates that `fit` was made from, with the published objective.
mixstream::CubeTensor free_third(const mixstream::MomentTensor& raw, const mixstream::SpectralFit& fit);

/// lambda |M|_* + |r|_2 / 2n for any M3, |.|_* that of the first unfolding.
double published_objective(const mixstream::MomentTensor& raw, const mixstream::SpectralFit& fit,
                           const mixstream::CubeTensor& third);

/// M3 as it stood in memory on the Java side.
mixstream::CubeTensor read_back(const mixstream::CubeTensor& third, bool wrongly);

/// The laws that the rest of their programs then found: whitening by M2, the power method on a tensor that
/// need not be symmetric, without limits on eigenvalues; weights are not scaled to one. Nothing where M2 has
/// no positive eigenvalue.
mixstream::Outcome<mixstream::Mixture> laws_of_the_authors(const mixstream::SpectralFit& fit,
                                                           const mixstream::CubeTensor& third,
                                                           std::uint64_t seed);

}  // namespace experiments
