// One observation, as a view: nothing is copied, nothing is owned.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "mixstream/core/row_fault.hpp"

namespace mixstream {

struct Row {
  std::span<const double> features;  ///< x, constant included where the feature map has one
  double response = 0.0;             ///< y
  double weight = 1.0;               ///< smallest_weight to largest_weight; weight 2 counts as two rows
  double time = 0.0;  ///< seconds on the row's own clock; used only with a half-life or a gap in seconds
  std::uint64_t sensor = 0;  ///< rows of one sensor follow each other; used only where modes or noise persist
};

/// Where a row stands in a stream: its number, and which stream. With the seed they decide, and nothing else
/// does, whether the sample has the row.
struct RowPosition {
  std::uint64_t row = 0;
  std::uint64_t source = 0;
};

/// A number for rows that bring none and have no order: what they hold, of features, response, weight, time
/// and sensor; -0.0 is 0.0. As RowPosition::row it makes the sample depend on the rows alone, in any order
/// and in any cut, as long as few of them are alike. No throw, no allocation; a multiplication for each
/// number.
std::uint64_t content_number(const Row& row) noexcept;

/// A number for the name of a sensor: the same name, the same number, everywhere. No throw, no allocation.
std::uint64_t sensor_number(std::string_view name) noexcept;

// Within these bounds nothing overflows: in raw units (1e45)^6, in pilot units (1e40)^6 (rows/pilot.hpp)
// times 2^64 of growth (moments/forgetting.hpp), each times the largest weight and 2^63 rows, stay below
// 1e308; and the square of the smallest weight is no zero.
inline constexpr double largest_magnitude = 1e45;  ///< of a feature, the response or the time
inline constexpr double smallest_weight = 1e-100;
inline constexpr double largest_weight = 1e15;

/// Judges a row before it touches any state. No throw, no allocation; d comparisons.
/// constant_feature: index of the feature that must be 1, or -1.
inline RowFault check(const Row& row, std::size_t feature_count, int constant_feature) noexcept;

/// Why a row with some number out of bounds is refused. No throw, no allocation.
RowFault name_the_fault(const Row& row) noexcept;

RowFault check(const Row& row, std::size_t feature_count, int constant_feature) noexcept {
  if (row.features.size() != feature_count) return RowFault::wrong_width;
  // Comparisons with NaN are false, so each bound is asked in the way that NaN fails.
  bool sound = std::abs(row.response) <= largest_magnitude;
  sound &= std::abs(row.time) <= largest_magnitude;
  sound &= row.weight >= smallest_weight;
  sound &= row.weight <= largest_weight;
  for (const double value : row.features) sound &= std::abs(value) <= largest_magnitude;
  if (!sound) return name_the_fault(row);
  const bool constant_is_one =
      constant_feature < 0 || row.features[static_cast<std::size_t>(constant_feature)] == 1.0;
  return constant_is_one ? RowFault::none : RowFault::wrong_constant;
}

}  // namespace mixstream
