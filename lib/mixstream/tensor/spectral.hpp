// From moments to a mixture, without a row: the paper's estimator, and a better spectral start.
//
// Both take and give raw coordinates and the units of y; the pilot of the tensor is an inner matter. Both are
// refused where they cannot answer, with the reason; a fit that is handed out is finite, with weights that
// sum to one. Neither throws, but for std::bad_alloc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/moments/tensor.hpp"
#include "mixstream/regression/nuclear.hpp"

namespace mixstream {

inline constexpr int largest_solved_dimension = 32;  ///< d beyond which solving is refused

struct SpectralSettings {
  std::optional<double> noise_variance;  ///< E[eps^2], > 0; nothing: estimated where that is possible
  double noise_third = 0.0;              ///< E[eps^3]
  double second_penalty = 1e-5;          ///< c_2, lambda_2 = c_2 / sqrt(n); paper_estimate only
  double third_penalty = 1e-3;           ///< c_3, lambda_3 = c_3 / sqrt(n); paper_estimate only
  PaperObjective objective = PaperObjective::printed;  ///< paper_estimate only
  PaperPenalty penalty = PaperPenalty::given;          ///< likewise
  std::optional<Mixture> plugged_in;  ///< for PaperPenalty::theory, raw; nothing: what a first fit finds
  bool allow_singular = false;      ///< paper_estimate: let the nuclear norm choose where Sigma_p is singular
  int admm_iterations = 4000;       ///< at most, for each of M2 and M3
  double admm_tolerance = 1e-8;     ///< relative primal and dual residual at which ADMM stops
  int regression_starts = 6;        ///< rank_start: starts of the rank-(k-1) regression
  int regression_iterations = 200;  ///< rank_start: at most, per start
  int power_restarts = 30;          ///< tensor power method: random starts per component
  int power_iterations = 60;        ///< tensor power method: iterations per start
  double least_weight = 0.02;       ///< weights are kept above this, in [0, 1/k)
  std::vector<std::string> feature_names;  ///< for refusals; empty: x1, x2, ...
  std::uint64_t seed = 1;
};

enum class NoiseSource { known, estimated };

/// What a caller should know about a fit that was handed out all the same. Names are stable, see name_of.
enum class SpectralWarning {
  singular_regression,  ///< Sigma_2 or Sigma_3 is singular: the nuclear norm chose (allow_singular)
  underdetermined,      ///< more unknowns than equations: one answer of many
  clamped_eigenvalue,   ///< a leading eigenvalue of M2 was not positive
  clamped_weight,       ///< a weight was lifted to least_weight
  lost_component,       ///< two laws coincide, or one explains nothing, as far as these moments tell
  noise_at_bound,       ///< the estimated noise variance ran to zero
  not_converged,        ///< an iteration reached its cap
};
const char* name_of(SpectralWarning warning) noexcept;

/// What paper_estimate leaves for the next one of the same stream.
struct PaperStart {
  NuclearStart second;
  NuclearStart third;

  friend bool operator==(const PaperStart&, const PaperStart&) = default;
};

struct SpectralFit {
  Mixture mixture;
  double noise_variance = 0;
  std::optional<double> noise_variance_error;  ///< standard error of an estimated one
  NoiseSource noise_source = NoiseSource::known;
  std::vector<double> second_spectrum;  ///< eigenvalues of M2, descending: all d, raw coordinates
  double weight_sum = 1.0;              ///< of the weights before they were scaled to one
  double agreement = 0.0;     ///< |B_power - B_joint| / |B|: power method against joint diagonalisation
  bool joint_chosen = false;  ///< the better third-moment residual was joint diagonalisation's
  double residual = 0.0;      ///< rank_start: distance of the rank regression
  std::vector<SpectralWarning> warnings;  ///< each at most once
  std::optional<NuclearFit> second;       ///< M2, paper_estimate only
  std::optional<NuclearFit> third;        ///< M3, paper_estimate only

  bool warns(SpectralWarning warning) const noexcept;
  std::optional<PaperStart> paper_start() const;  ///< nothing where the paper's regressions were not run
};

/// Scratch for both estimators: grows to the (d, k) it meets, then is reused. One per thread.
class SpectralWorkspace {
 public:
  SpectralWorkspace();
  ~SpectralWorkspace();
  SpectralWorkspace(SpectralWorkspace&&) noexcept;
  SpectralWorkspace& operator=(SpectralWorkspace&&) noexcept;
  struct Content;
  Content& content() noexcept { return *content_; }

 private:
  std::unique_ptr<Content> content_;
};

/// The better start. M1 by least squares; Cov(beta) = V V' of rank k - 1 together with s2 from the squared
/// residuals; the third central moment inside the span of V; then both decompositions of the k x k x k tensor
/// of (1, beta), whitened. Needs k <= d, or k <= d + 1 where the noise variance is known or x holds no
/// constant. `warm`: the last fit of the same stream.
Outcome<SpectralFit> rank_start(const MomentTensor& tensor, int components, const SpectralSettings& settings,
                                SpectralWorkspace& workspace, const SpectralFit* warm = nullptr);

/// The paper's Algorithm 1: M1 by least squares, M2 and M3 by nuclear-norm regression, whitening, robust
/// tensor power method, un-whitening. Needs k <= d, and Sigma_2 and Sigma_3 regular unless allow_singular. An
/// unknown noise variance is one more coefficient, and refused where x holds a constant.
Outcome<SpectralFit> paper_estimate(const MomentTensor& tensor, int components,
                                    const SpectralSettings& settings, SpectralWorkspace& workspace,
                                    const PaperStart* warm = nullptr);

/// Three independent parts of the stream, one for each regression, as the paper's analysis wants.
struct MomentParts {
  const MomentTensor& first;
  const MomentTensor& second;
  const MomentTensor& third;
};
Outcome<SpectralFit> paper_estimate(const MomentParts& parts, int components,
                                    const SpectralSettings& settings, SpectralWorkspace& workspace,
                                    const PaperStart* warm = nullptr);

}  // namespace mixstream
