// In a file of its own, so that a test can link another one and see that somebody notices.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "mixstream/moments/sections.hpp"

namespace mixstream {

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace mixstream
