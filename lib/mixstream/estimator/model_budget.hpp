// How much memory one model of many may take: the sample's size follows from it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mixstream/core/outcome.hpp"
#include "mixstream/estimator.hpp"

namespace mixstream {

inline constexpr std::size_t least_budget_sample = 250;  ///< rows; below it starts are found by luck

/// Bytes of one model of these settings at rest, without the copies that a merge or a solve makes. Refuses
/// what bytes_needed refuses, but for its budget.
Outcome<std::uint64_t> model_bytes(const EstimatorSettings& settings);

/// The rows of the largest sample, at most the usual one, with which a model takes no more than `bytes`. A
/// sample that the settings name stays. Refuses a budget for fewer than 250 rows, saying how much they take.
/// The sample finds the laws and judges the fit; moments and polish see every row whatever its size.
Outcome<std::size_t> sample_rows_within(const EstimatorSettings& settings, std::uint64_t bytes);

}  // namespace mixstream
