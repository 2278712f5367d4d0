// Doubts in words: one sentence with a size, and the command that mends it.
#pragma once

#include <string>
#include <vector>

#include "mixstream/doubts/doubt.hpp"

namespace mixstream {

/// What the words need to know of the fit.
struct DoubtContext {
  std::vector<std::string> features;  ///< names, as -x has them
  std::string response = "y";
  std::size_t laws = 1;  ///< k
  double noise = 1.0;    ///< its standard deviation in the user's units
};

/// "about +0.05 u^2 in every law: 0.17 noise sd at most". Laws count from 1. Allocates.
std::string doubt_sentence(const Doubt& doubt, const DoubtContext& context);

/// "add u^2: -x 1,u,v,u^2", "--modes gated", or what to look at where no option mends it. Allocates.
std::string doubt_remedy(const Doubt& doubt, const DoubtContext& context);

/// "modes that last": for a table of all that was looked for. Allocates.
std::string doubt_title(const Doubt& doubt);

}  // namespace mixstream
