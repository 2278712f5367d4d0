// Which stream a row comes from, where nobody says.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "mixstream/core/random.hpp"

namespace mixstream {

/// Streams that begin differently have different sources, so that the samples of states made apart are
/// independent when they are merged; the parts of one resumed stream share the source of its first row, given
/// as its numbers without the constant. No throw.
inline std::uint64_t source_of(std::span<const double> first_row) noexcept {
  std::uint64_t hash = 0;
  for (const double value : first_row) hash = mixed_bits(hash + std::bit_cast<std::uint64_t>(value));
  return hash;
}

}  // namespace mixstream
