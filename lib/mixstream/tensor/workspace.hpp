// What a SpectralWorkspace holds. For the .cpp files of this folder.
#pragma once

#include "mixstream/regression/nuclear.hpp"
#include "mixstream/regression/rank.hpp"
#include "mixstream/tensor/spectral.hpp"

namespace mixstream {

struct SpectralWorkspace::Content {
  RankWorkspace rank;
  NuclearWorkspace nuclear;
  std::vector<RankFit> rank_fits;
  DenseMatrix lifted;     ///< L, N(d, 3) x N(k-1, 3); N(k, 3) in the paper's method
  DenseMatrix products;   ///< Sigma_3 L
  DenseMatrix core_gram;  ///< L' Sigma_3 L
  ScaledEigen core_system;
  std::vector<double> scratch;
};

/// Checks that both estimators share: k, settings, rows, d. Nothing: all is well.
std::optional<Refusal> refused_request(const MomentTensor& tensor, int components,
                                       const SpectralSettings& settings);

/// Checks of the first regression that both share, `known` in its coordinates: y not exactly linear in x, and
/// the known noise variance not far above what is left of y.
std::optional<Refusal> refused_residual(const FirstMoment& first, std::optional<double> known);

void warn(SpectralFit& fit, SpectralWarning warning);

/// Eigenvalues of sum_h pi_h beta_h beta_h', descending.
std::vector<double> second_spectrum_of(const Mixture& mixture);

/// min over relabellings of |B - B'|_F / |B|, by greedy matching of nearest laws.
double law_difference(const Mixture& left, const Mixture& right);

}  // namespace mixstream
