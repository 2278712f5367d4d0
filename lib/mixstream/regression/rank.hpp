// Rank-r regression: E[e^2 | x] = x'(V V')x + s2 with V of d x r, in the metric of Sigma_2.
//
// The rank does the work of the nuclear norm: it identifies V V' where Sigma_2 is singular, and s2 where x
// holds a constant (r < d). Gauss-Newton with damping from several starts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mixstream/linalg/spectrum.hpp"
#include "mixstream/regression/symmetric.hpp"
#include "mixstream/regression/systems.hpp"

namespace mixstream {

struct RankSettings {
  std::optional<double> noise_variance;  ///< s2 where it is known
  int starts = 6;                        ///< the first ones from plain regression, the others random
  int iterations = 200;                  ///< at most, per start
  std::uint64_t seed = 1;
  double rows = 0.0;  ///< n, for standard errors only
};

struct RankFit {
  DenseMatrix factor;         ///< V, d x r; defined up to a rotation of its columns
  double noise_variance = 0;  ///< s2, known or estimated
  double distance = 0;        ///< E(fitted - projected e^2)^2: zero for exact moments of a true model
  double spread = 0;          ///< E(e^2 - its projection)^2: n distance / spread is about a chi-square
  std::optional<double> noise_variance_error;  ///< standard error of an estimated s2; see rank.cpp
  std::size_t equations = 0;                   ///< rank of the system
  std::size_t unknowns = 0;                    ///< d r - r(r-1)/2, plus one where s2 is estimated
  int iterations = 0;                          ///< of the best start
};

/// Scratch for one shape; grows to what it meets and is reused after.
struct RankWorkspace {
  ScaledEigen system;
  DenseMatrix root;      ///< R, R'R = the system's matrix; rank x (N(d, 2) [+ 1])
  DenseMatrix stacked;   ///< (rank d) x d: R with the columns laid out for one product with V
  DenseMatrix jacobian;  ///< rank x unknowns
  std::vector<double> target, scratch;
};

/// One fit for each start, the least distance first; several starts may reach the same one. `warm` is tried
/// first and then leaves only one start besides it. False when a decomposition fails. Never returns anything
/// non-finite.
bool fit_rank(const PowerSystem& system, const FirstMoment& first, std::size_t rank,
              const RankSettings& settings, const RankFit* warm, RankWorkspace& workspace,
              std::vector<RankFit>& fits);

}  // namespace mixstream
