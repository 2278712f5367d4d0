// Candidates of a search: which are known, which are hopeless, which of two is better. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mixstream/likelihood/em.hpp"
#include "mixstream/refinement/refine.hpp"

namespace mixstream {

/// Every stride-th row. Allocates.
RowTable every(const RowTable& rows, std::size_t stride);

/// Whether the mixture is one of those seen, by same_optimum. Allocates; k^2 d^2 for each.
bool is_known(const Mixture& mixture, std::span<const Mixture> seen, const DenseMatrix& second_moment);

/// Best likelihood first, without those that lie in a wrong valley: further below `likeliest`, on so many
/// rows, than any right fit. Optima of the same likelihood stay in order.
std::vector<EmFit> ranked(std::vector<EmFit> optima, double likeliest, double rows, std::size_t parameters);

/// Accepted before rejected; all conditions before some; then, of accepted fits, the lesser J, which all rows
/// decide; of rejected ones, and while the sample holds every row, the likelier on the sample. No throw.
bool beats(const RefinedFit& one, const RefinedFit& two, bool sample_is_stream) noexcept;

/// Those whose J is nearly the least of all: J cannot decide between them. Allocates.
std::vector<RefinedFit> near_in_distance(const RefinedFit& best, std::vector<RefinedFit> fits);

/// Given starts, filled up to `number` with random ones, which take the known noise where there is one.
std::vector<Mixture> filled_up(const MomentTensor& tensor, std::size_t component_count,
                               std::span<const Mixture> starts, int number,
                               const std::vector<double>& known_noise, Random& random);

/// BIC that the richer model gains on so many rows of d features; FitEvidence::not_asked where it has shrunk
/// onto a few of them. `noise` is the poorer model's. No throw, no allocation.
double bic_gain(const EmFit& richer, const EmFit& own, NoiseModel noise, double rows) noexcept;

}  // namespace mixstream
