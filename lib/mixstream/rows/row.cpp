#include "mixstream/rows/row.hpp"

#include <bit>
#include <cmath>

#include "mixstream/core/random.hpp"

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

std::uint64_t content_number(const Row& row) noexcept {
  // A polynomial of what the row holds: its products do not wait for each other. Round numbers are zero in
  // their lower bits, which multiplication would leave so.
  std::uint64_t hash = row.sensor;
  std::uint64_t factor = 0xd1b54a32d192ed03ULL;
  const auto add = [&](double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
    hash += (bits ^ (bits >> 32)) * factor;
    factor *= 0x9e3779b97f4a7c15ULL;
  };
  add(row.time);
  add(row.weight);
  for (const double value : row.features) add(value);
  add(row.response);
  return mixed_bits(hash);
}

}  // namespace mixstream
