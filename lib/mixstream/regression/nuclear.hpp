// Nuclear-norm regression on moments, m = cvec(M), with either loss of the paper:
//   squared, as its text prints:    min_m lambda |M|_* + 1/2 m'Sigma m - m'target
//   root, as its programs computed: min_m lambda |M|_* + |r|_2 / 2n, r the residuals of all n rows
//
// |r|_2^2 = n q(m), q(m) = m'Sigma m - 2 m'target + E[t^2], t what is regressed. The root is the least over
// sigma of (q / sigma + sigma) / 2: for each sigma a squared problem with the penalty 2 sqrt(n) sigma lambda,
// and sigma = sqrt(q) at the optimum. The two are convex together, so the alternation ends there.
//
// For a symmetric tensor all unfoldings have the same singular values, so |M|_* is that of the d x d^(p-1)
// unfolding. ADMM splits m from its unfolding Z: soft-thresholding Z and then symmetrising would not be the
// proximal step on symmetric tensors.
#pragma once

#include <optional>
#include <vector>

#include "mixstream/linalg/spectrum.hpp"
#include "mixstream/regression/symmetric.hpp"

namespace mixstream {

/// What the root of the loss needs beside the normal equations.
struct RootLoss {
  double response_square = 0.0;  ///< E[t^2]
  double rows = 1.0;             ///< n
};

struct NuclearSettings {
  double penalty = 0.0;          ///< lambda >= 0
  int iterations = 4000;         ///< at most; for each sigma of a root
  double tolerance = 1e-8;       ///< on both relative residuals
  bool semidefinite = false;     ///< M >= 0 as well; degree 2 only
  std::optional<RootLoss> root;  ///< nothing: the squared loss
};

/// Where the next regression of a growing stream begins.
struct NuclearStart {
  std::vector<double> coefficients;  ///< m = cvec(M)
  std::vector<double> dual;          ///< see NuclearFit
  double step = 0;                   ///< rho

  friend bool operator==(const NuclearStart&, const NuclearStart&) = default;
};

/// How a regression by ADMM went; also the warm start of the next one.
struct NuclearFit {
  std::vector<double> coefficients;  ///< m = cvec(M)
  double penalty = 0;                ///< lambda
  double objective = 0;              ///< what was minimised, at m
  double primal_residual = 0;        ///< |unfold(m) - Z| / |Z|
  double dual_residual = 0;          ///< rho |Z - last Z| / |D|
  int iterations = 0;
  bool converged = false;
  std::vector<double> dual;  ///< D, d x d^(p-1): in scale lambda d|Z|_*, and fold(D) = target - Sigma m
  double scale = 1;          ///< 1 for the squared loss; 2 sqrt(n) sigma for the root
  double step = 0;           ///< rho at the end

  NuclearStart start() const { return {coefficients, dual, step}; }
};

/// Scratch for one shape; grows to what it meets and is reused after.
struct NuclearWorkspace {
  SymmetricEigen system;  ///< of Sigma: the one factorisation
  SymmetricEigen small;   ///< d x d, in every iteration
  DenseMatrix smooth, low_rank, previous, multiplier, combined, gram, shrunk;
  std::vector<double> rotated_target, pull, rotated, solution;
};

/// Solves. `warm`: what the last fit of the same shape left, or nothing; one of another shape is not used.
/// False when a decomposition fails or anything non-finite turns up. One eigendecomposition of Sigma, 10 N^3;
/// then 4 N^2 + O(d^4) an iteration.
bool nuclear_regression(const DenseMatrix& gram, std::span<const double> target, const SymmetricShape& shape,
                        const NuclearSettings& settings, const NuclearStart* warm,
                        NuclearWorkspace& workspace, NuclearFit& fit);

}  // namespace mixstream
