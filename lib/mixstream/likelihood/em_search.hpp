// EM as a method of its own: many random starts, and what is told about the optima they end in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mixstream/core/outcome.hpp"
#include "mixstream/likelihood/em.hpp"

namespace mixstream {

/// The likelihood has no bound: a law through any d rows, with noise sinking to zero, beats every honest fit.
/// So a component is spurious when few rows hold it and its noise has sunk far below the others'. With
/// unequal noise and many rows a quiet component is real, and is not flagged.
struct SpuriousSettings {
  double noise_ratio = 0.05;            ///< sigma_h below this share of the other components' is suspect ...
  double rows_per_coefficient = 100.0;  ///< ... while it holds fewer rows than this, times d + 1
};

/// Whether the component has collapsed onto few of the rows (total_weight of them in all), or holds no more
/// rows than it has coefficients. No throw, no allocation; k additions.
bool is_spurious(const Mixture& mixture, std::size_t component, double total_weight,
                 const SpuriousSettings& settings = {}) noexcept;

/// Whether any component is.
bool is_spurious(const Mixture& mixture, double total_weight, const SpuriousSettings& settings = {}) noexcept;

/// What became of one start.
struct EmStart {
  double mean_log_likelihood = 0.0;
  int iterations = 0;
  bool converged = false;
  bool spurious = false;
};

struct EmSearch {
  EmFit best;                     ///< the most likely fit that is not spurious; a spurious one if all are
  bool best_is_spurious = false;  ///< true only when every start ended in a spurious optimum
  std::optional<EmFit> spurious;  ///< the most likely spurious fit, where one is more likely than `best`
  std::vector<EmStart> starts;    ///< in the order tried
};

enum class StartScale {
  rows,  ///< laws scatter about the least-squares law by as much as y does: follows any change of units
  paper  ///< random_em_start: standard normal laws, unit noise variance, whatever the rows' units
};

/// A random start on the scale of the rows. Allocates; cost n d^2.
Mixture random_em_start(const RowBlocks& rows, std::size_t component_count, Random& random);

/// EM from each of the given starts. Refuses an empty list, starts of another shape than the rows' or each
/// other's or not finite, and fewer rows than parameters. Cost: that of fit_em for each start.
Outcome<EmSearch> best_of_starts(const RowTable& rows, std::span<const Mixture> starts,
                                 const EmSettings& settings = {});

/// The same from random starts; also refuses k < 1 and starts < 1. The same seed gives the same search.
Outcome<EmSearch> best_of_random_starts(const RowTable& rows, std::size_t component_count, int starts,
                                        std::uint64_t seed, const EmSettings& settings = {},
                                        StartScale scale = StartScale::rows);

}  // namespace mixstream
