// One stream measured: by the yardstick, and by the library.
#pragma once

#include <cstdint>

#include "cell.hpp"
#include "kinds.hpp"
#include "mixstream/core/settings.hpp"
#include "stream.hpp"

namespace sensor {

/// Batch maximum likelihood of the true model and of rows by chance, both from the truth: `chain`, `chance`
/// (errors of the coefficients, root of the sum of squares), `chain_decrement`, `chance_decrement`, `chain_z`
/// (coefficients), `chain_weight_z`, `seconds`.
Cell measured_by_yardstick(const Kind& kind, std::uint64_t seed);

/// One pass of the estimator: `error`, `ok`, `stage`, `drift` (rows of the events), `coefficient_z`,
/// `weight_z`, `transition_z`, `dwells`, `changes`, `few_words`, `rho`, `seconds`. No fit: only `ok`,
/// `drift`, `seconds`.
Cell measured_by_library(const Kind& kind, std::uint64_t seed, mixstream::Modes modes);

/// Share of rows given a wrong law by the library's fit: `filtered`, `row_by_row`; and by the truth,
/// `true_filtered`, `true_row_by_row`.
Cell measured_labels(const Kind& kind, std::uint64_t seed, mixstream::Modes modes);

}  // namespace sensor
