#include "mixstream/rows/row.hpp"

#include "mixstream/random.hpp"

#include <cmath>

namespace mixstream {
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
    case RowVerdict::clock_jump:
      return "clock_jump";
  }
  return "unknown";
}

RowVerdict name_the_fault(const Row& row) noexcept {
  bool any_nan = std::isnan(row.response) || std::isnan(row.weight) || std::isnan(row.time);
  bool any_infinite = std::isinf(row.response) || std::isinf(row.weight) || std::isinf(row.time);
  bool any_large = std::abs(row.response) > largest_magnitude || std::abs(row.time) > largest_magnitude;
  for (const double value : row.features) {
    any_nan = any_nan || std::isnan(value);
    any_infinite = any_infinite || std::isinf(value);
    any_large = any_large || std::abs(value) > largest_magnitude;
  }
  if (any_nan) return RowVerdict::not_a_number;
  if (any_infinite) return RowVerdict::infinite;
  return any_large ? RowVerdict::too_large : RowVerdict::bad_weight;
}

std::uint64_t sensor_number(std::string_view name) noexcept {
  std::uint64_t hash = name.size();
  for (const char c : name) hash = mixed_bits(hash + static_cast<unsigned char>(c));
  return hash;
}

}  // namespace mixstream
