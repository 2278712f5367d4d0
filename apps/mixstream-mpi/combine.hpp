// The ranks' branches added up, always in the same order.
#pragma once

#include "mixstream/estimator.hpp"
#include "ranks.hpp"

namespace mixstream {

/// What adding up took, on this rank.
struct CombineCost {
  double seconds = 0.0;     ///< wall
  std::uint64_t bytes = 0;  ///< sent, or received
  std::uint64_t merges = 0;
};

/// On rank 0 the sum of all ranks' branches of one estimator; elsewhere what this rank had. Neighbours are
/// added first, then neighbouring pairs, and so on (a binomial tree, the left one takes the right one's
/// rows): the result depends on the branches and their number alone. log2(ranks) messages of a state for rank
/// 0.
Outcome<Estimator> combine(Ranks& ranks, Estimator branch, CombineCost& cost);

}  // namespace mixstream
