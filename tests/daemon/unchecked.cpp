// The tests' own test: a checksum that is always the same stands before the library's, and somebody must
// notice.
#include <doctest/doctest.h>

#include "daemon/image.hpp"
#include "daemon/sweep.hpp"
#include "mixstream/moments/sections.hpp"

namespace mixstream {

std::uint64_t checksum(std::span<const std::byte>, std::uint64_t) noexcept {
  return 0;
}

}  // namespace mixstream

using namespace disk_shim;

TEST_CASE("without the checksum the sweep of crashes goes red") {
  CHECK(sweep_crashes({}, 2).complaints > 0);
}

TEST_CASE("without the checksum damage goes unnoticed") {
  CHECK_FALSE(damage_everything().wrong.empty());
}
