// Do the moments determine M1, M2 and M3? Which products of features stand in the way, and how well
// conditioned is the rest. Plain data for the report.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mixstream/core/identifiability.hpp"
#include "mixstream/core/mixture.hpp"
#include "mixstream/moments/tensor.hpp"

namespace mixstream {

/// Features beyond this many are diagnosed without the eigenvalues of Sigma_3 (N(d, 3)^3 operations).
inline constexpr int largest_diagnosed_dimension = 16;

/// Diagnoses. `mixture` (raw coordinates) is plugged in for what needs one: M2's noise offset and
/// penalty_asked; without it those are left out. Standard errors take the residual of y^2 to vary as much at
/// every x, because its true variance needs eighth moments. Never throws but for memory.
Identifiability diagnose(const MomentTensor& tensor, const Mixture* mixture,
                         std::span<const std::string> feature_names);

/// What the paper's lemma asks of lambda_p: 2 |X*(eta_p)|_op / n, p = 2 or 3, with the mixture (raw) plugged
/// in for M_p and the noise. `raw`: in raw coordinates. Allocates; N(d, p)^2.
struct AskedPenalty {
  double value = 0.0;
  double residual_square = 0.0;  ///< E[eta_p^2]
};
AskedPenalty asked_penalty(const MomentTensor& raw, const Mixture& mixture, int degree);

/// The groups of dependent monomials of degree p, by name. Empty when Sigma_p is regular.
std::vector<Dependence> dependences(const MomentTensor& tensor, int degree,
                                    std::span<const std::string> feature_names);

/// "t*t and 1*t^2; t*t*t and 1*t*t^2; ..." for a refusal; at most four groups.
std::string describe(std::span<const Dependence> groups);

}  // namespace mixstream
