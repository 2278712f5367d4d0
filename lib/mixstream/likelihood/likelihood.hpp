// The likelihood of rows under a mixture, its scores, and what a row says about its component.
#pragma once

#include <cstddef>
#include <span>

#include "mixstream/core/mixture.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

/// P(h | x, y) into probabilities (k of them); returns log p(y | x). No throw, no allocation; k d products.
double responsibilities(const Mixture& mixture, const Row& row, std::span<double> probabilities) noexcept;

/// log p(y | x). No throw, no allocation; k d products.
double log_likelihood(const Mixture& mixture, const Row& row) noexcept;

/// The component with the largest P(h | x, y); the first of equals. No throw, no allocation; k d products.
std::size_t most_likely_component(const Mixture& mixture, const Row& row) noexcept;

/// Weighted mean of log p(y | x) over the rows. SIMD over rows.
double mean_log_likelihood(const Mixture& mixture, const RowTable& rows);

/// d log p(y | x) / d theta of one row, theta as in parameters.hpp. `probabilities` is scratch of k numbers
/// and holds P(h | x, y) afterwards; returns log p(y | x). No throw, no allocation.
double row_score(const Mixture& mixture, const Row& row, NoiseModel noise, std::span<double> probabilities,
                 std::span<double> score) noexcept;

}  // namespace mixstream
