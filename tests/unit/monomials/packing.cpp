#include "mixstream/monomials/packing.hpp"

#include <doctest/doctest.h>

#include <set>
#include <stdexcept>

using namespace mixstream;

TEST_CASE("the number of monomials is exact and overflow is noticed") {
  CHECK(monomial_count(1, 6) == 1);
  CHECK(monomial_count(4, 3) == 20);
  CHECK(monomial_count(11, 6) == 8008);
  CHECK(monomial_count(64, 6) == 119877472);
  CHECK(monomial_count(5, 0) == 1);
  CHECK(monomial_count(0, 3) == 0);
  for (std::uint64_t v = 2; v < 200; ++v) {  // Pascal: N(v, p) = N(v - 1, p) + N(v, p - 1)
    for (std::uint64_t p = 1; p <= 6; ++p) {
      CHECK(*monomial_count(v, p) == *monomial_count(v - 1, p) + *monomial_count(v, p - 1));
    }
  }
  CHECK(!monomial_count(4333, 6).has_value());
  CHECK(monomial_count(4332, 6).has_value());
  CHECK(!monomial_count(1ULL << 62, 6).has_value());
  CHECK(!monomial_count(~0ULL, 1).has_value());
}

TEST_CASE("pivot order gives every monomial its own place") {
  for (int m = 1; m <= 7; ++m) {
    const Packing packing(m);
    CHECK(packing.size() == *monomial_count(static_cast<std::uint64_t>(m), 6));
    std::set<std::size_t> seen;
    SixIndices s{};
    for (s[0] = 0; s[0] < m; ++s[0])
      for (s[1] = s[0]; s[1] < m; ++s[1])
        for (s[2] = s[1]; s[2] < m; ++s[2])
          for (s[3] = s[2]; s[3] < m; ++s[3])
            for (s[4] = s[3]; s[4] < m; ++s[4])
              for (s[5] = s[4]; s[5] < m; ++s[5]) {
                CHECK(packing.position(s) < packing.size());
                seen.insert(packing.position(s));
              }
    CHECK(seen.size() == packing.size());
  }
}

TEST_CASE("a tensor of no or too many variables is refused") {
  CHECK_THROWS_AS(Packing(0), std::invalid_argument);
  CHECK_THROWS_AS(Packing(65), std::invalid_argument);
}
