#include "mixstream/rows/row.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mixstream {
namespace {

// |v|^6 stays finite, with room for a sum over 2^60 rows: (2^1024 / 2^60)^(1/6) is about 2^160.
constexpr double largest_magnitude = 1e48;

RowVerdict judge_numbers(const Row& row) noexcept {
  double largest = std::max(std::abs(row.response), std::abs(row.weight));
  double sum = row.response + row.weight + row.time;  // NaN spreads; infinity leaves it non-finite
  for (const double value : row.features) {
    sum += value;
    largest = std::max(largest, std::abs(value));
  }
  if (largest <= largest_magnitude && std::isfinite(sum)) return RowVerdict::accepted;
  bool any_nan = std::isnan(row.response) || std::isnan(row.weight) || std::isnan(row.time);
  for (const double value : row.features) any_nan = any_nan || std::isnan(value);
  if (any_nan) return RowVerdict::not_a_number;
  return std::isinf(largest) || std::isinf(row.time) ? RowVerdict::infinite : RowVerdict::too_large;
}

}  // namespace

const char* name_of(RowVerdict verdict) noexcept {
  switch (verdict) {
    case RowVerdict::accepted:
      return "accepted";
    case RowVerdict::wrong_width:
      return "wrong_width";
    case RowVerdict::not_a_number:
      return "not_a_number";
    case RowVerdict::infinite:
      return "infinite";
    case RowVerdict::too_large:
      return "too_large";
    case RowVerdict::bad_weight:
      return "bad_weight";
    case RowVerdict::wrong_constant:
      return "wrong_constant";
  }
  return "unknown";
}

RowVerdict check(const Row& row, std::size_t feature_count, int constant_feature) noexcept {
  if (row.features.size() != feature_count) return RowVerdict::wrong_width;
  const RowVerdict numbers = judge_numbers(row);
  if (numbers != RowVerdict::accepted) return numbers;
  if (row.weight <= 0.0) return RowVerdict::bad_weight;
  if (constant_feature >= 0 && row.features[static_cast<std::size_t>(constant_feature)] != 1.0) {
    return RowVerdict::wrong_constant;
  }
  return RowVerdict::accepted;
}

}  // namespace mixstream
