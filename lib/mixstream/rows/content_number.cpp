#include "mixstream/rows/content_number.hpp"

#include <bit>

#include "mixstream/core/random.hpp"

namespace mixstream {

std::uint64_t content_number(const Row& row) noexcept {
  std::uint64_t hash = row.sensor;
  const auto add = [&hash](double value) {
    hash = (hash ^ (hash >> 32)) * 0xd1b54a32d192ed03ULL + std::bit_cast<std::uint64_t>(value + 0.0);
  };
  add(row.time);
  add(row.weight);
  for (const double value : row.features) add(value);
  add(row.response);
  return mixed_bits(hash);
}

}  // namespace mixstream
