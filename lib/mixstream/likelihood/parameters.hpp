// The mixture as one unconstrained vector: theta = (beta_1 .. beta_k; log pi_h/pi_k for h < k; log s2 or log
// s2_h). Under NoiseModel::known the variances are no parameters and theta ends with the log-odds.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/core/settings.hpp"

namespace mixstream {

/// k d + (k - 1) + 1, k or 0.
std::size_t parameter_count(std::size_t component_count, std::size_t feature_count,
                            NoiseModel noise) noexcept;

/// From so many laws on a sample has many optima: a fit must be met again, and have no rival.
inline constexpr std::size_t many_laws = 3;

/// Many laws with more than 25 parameters: a sample of 5,000 rows then has many optima nearly as
/// likely as the right one, and a polish that begins at one of them is lost.
bool is_crowded(std::size_t component_count, std::size_t parameters) noexcept;

/// Rows that a sample for such a model should hold: 5,000; crowded 10,000, beyond 50 parameters 20,000.
std::size_t sample_rows_for(std::size_t component_count, std::size_t parameters) noexcept;

/// theta of a mixture. Allocates the result.
std::vector<double> to_parameters(const Mixture& mixture, NoiseModel noise);

/// The mixture of theta, into `mixture`, which holds k and d (and, under NoiseModel::known, the variances).
/// No allocation; weights sum to one, variances are positive.
void from_parameters(std::span<const double> parameters, NoiseModel noise, Mixture& mixture) noexcept;

}  // namespace mixstream
