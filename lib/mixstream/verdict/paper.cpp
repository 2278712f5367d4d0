#include "mixstream/verdict/paper.hpp"

namespace mixstream {
namespace {

/// A warning of the paper's estimator that means its laws should not be trusted. The first that applies names
/// the status; all that apply are told.
struct Warned {
  SpectralWarning warning;
  FitStatus status;
  const char* words;
};

constexpr Warned warned[] = {
    {SpectralWarning::lost_component, FitStatus::lost_component,
     "two laws coincide or one explains nothing: ask for a smaller k"},
    {SpectralWarning::clamped_eigenvalue, FitStatus::lost_component,
     "M2 has fewer positive eigenvalues than laws were asked for: ask for a smaller k, or wait for more "
     "rows"},
    {SpectralWarning::singular_regression, FitStatus::not_identifiable,
     "products of features are linearly dependent, so M2 or M3 is one of many that fit, the one of least "
     "nuclear norm: use the default method or other features"},
    {SpectralWarning::not_converged, FitStatus::poor_fit,
     "an iteration reached its cap: the tensor may have no k orthogonal parts; use the default method"},
    {SpectralWarning::clamped_weight, FitStatus::poor_fit,
     "a weight came out below the least one and was lifted: wait for more rows, or use the default method"},
    {SpectralWarning::noise_at_bound, FitStatus::poor_fit,
     "the noise variance came out negative: give it, or use the default method"},
};

}  // namespace

PaperVerdict paper_verdict(const SpectralFit& fit) {
  PaperVerdict verdict;
  for (const Warned& doubt : warned) {
    if (!fit.warns(doubt.warning)) continue;
    if (verdict.status == FitStatus::ok) verdict.status = doubt.status;
    verdict.words += verdict.words.empty() ? "do not trust these laws: " : "; ";
    verdict.words += doubt.words;
  }
  verdict.words +=
      verdict.words.empty() ? "the paper's estimator: a start for better methods, without error bars." : ".";
  return verdict;
}

}  // namespace mixstream
