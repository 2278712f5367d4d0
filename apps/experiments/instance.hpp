// One instance of the paper's evaluation: laws and rows drawn from one seed, and the error of every method on
// them.
#pragma once

#include <cstdint>
#include <string>

#include "experiments/json.hpp"
#include "experiments/streams.hpp"

namespace experiments {

struct InstancePlan {
  Setting setting;
  std::size_t rows = 500000;
  std::uint64_t seed = 1;    ///< of laws, rows and everything random after them
  int attempts = 10;         ///< random starts of EM
  bool repeat_ours = false;  ///< our own pass once an attempt too, each with its own seed
};

/// What the instance depends on, as text: equal keys give equal results.
std::string key_of(const InstancePlan& plan);

/// Both draw the same rows and fit them. Errors are |B* - B|_F, least over labellings; null: refused.
///   mle                     EM from the truth on all rows
///   printed, published      the paper's method with the noise variance given, by either objective
///   spectral_em             EM from the published one's laws, with uniform weights and s2 = 0.1
///   em                      EM from the paper's random starts, an array
Json run_others(const InstancePlan& plan);
///   start_known, start      our spectral start, noise variance given, and not
///   refined, polished       our pass, noise unknown; with the verdict in `status`
Json run_ours(const InstancePlan& plan);

/// The definition without a floor.
inline bool is_beyond_twice(double error, double mle) {
  return error > 2.0 * mle;
}

/// A fit is wrong when it errs by more than this and by more than twice as much as the MLE. It says so when
/// it is not ok; before the polish also when its own standard errors, three times, cover that.
inline constexpr double wrong_above = 0.3;
inline constexpr double own_errors = 3.0;
inline bool is_wrong(double error, double mle) {
  return error > wrong_above && error > 2.0 * mle;
}

}  // namespace experiments
