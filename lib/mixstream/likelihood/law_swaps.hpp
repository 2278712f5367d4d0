// EM that does not end in the first optimum: laws are taken out of a fit, others put in, and EM goes on.
//
// With many laws nearly every random start ends with some laws right, two rows' worth of laws in one place
// and one law for two. Such an end is one swap away from a better one, and a swap costs few iterations, where
// a new start would have to get all laws right at once.
#pragma once

#include <optional>

#include "mixstream/likelihood/common_law.hpp"
#include "mixstream/likelihood/em.hpp"

namespace mixstream {

struct SwapSettings {
  EmSettings em;              ///< of EM once a swap looks promising
  int first_iterations = 15;  ///< of EM before that is asked
  double promising = 0.02;    ///< nats a row that EM may lack then
};

/// Swaps laws of fits to the same rows. Keeps references to the rows and the random numbers.
class LawSwaps {
 public:
  LawSwaps(const RowBlocks& rows, const SwapSettings& settings, Random& random);

  /// One law of the fit taken out and a random law or half of another one put in its place, or two laws
  /// turned about their middle; and EM from there: where that ends, if it looked promising and is not
  /// spurious (em_search.hpp). Needs two laws or more. Allocates; cost of fit_em.
  std::optional<EmFit> swapped(const EmFit& fit);

  /// The likeliest fit that swaps lead to, one after the other, until `patience` of them in a row have
  /// brought nothing, or the mean log-likelihood has reached `enough`.
  EmFit improved(EmFit fit, int patience, double enough);

 private:
  void put_random_law(Mixture& mixture, std::size_t component);
  void split_law(Mixture& mixture, std::size_t component, std::size_t into);
  void turn_pair(Mixture& mixture, std::size_t one, std::size_t other);
  std::vector<double> whitened_draw(double length);

  const RowBlocks& rows_;
  SwapSettings settings_;
  Random& random_;
  CommonLaw common_;
};

}  // namespace mixstream
