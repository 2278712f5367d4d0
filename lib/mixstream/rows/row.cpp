#include "mixstream/rows/row.hpp"

#include "mixstream/core/random.hpp"

#include <cmath>

namespace mixstream {
RowFault name_the_fault(const Row& row) noexcept {
  bool any_nan = std::isnan(row.response) || std::isnan(row.weight) || std::isnan(row.time);
  bool any_infinite = std::isinf(row.response) || std::isinf(row.weight) || std::isinf(row.time);
  bool any_large = std::abs(row.response) > largest_magnitude || std::abs(row.time) > largest_magnitude;
  for (const double value : row.features) {
    any_nan = any_nan || std::isnan(value);
    any_infinite = any_infinite || std::isinf(value);
    any_large = any_large || std::abs(value) > largest_magnitude;
  }
  if (any_nan) return RowFault::not_a_number;
  if (any_infinite) return RowFault::infinite;
  return any_large ? RowFault::too_large : RowFault::bad_weight;
}

std::uint64_t sensor_number(std::string_view name) noexcept {
  std::uint64_t hash = name.size();
  for (const char c : name) hash = mixed_bits(hash + static_cast<unsigned char>(c));
  return hash;
}

}  // namespace mixstream
