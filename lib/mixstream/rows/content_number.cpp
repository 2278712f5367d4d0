#include "mixstream/rows/content_number.hpp"

#include <bit>

#include "mixstream/core/random.hpp"

namespace mixstream {

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
