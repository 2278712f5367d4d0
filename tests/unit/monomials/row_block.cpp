#include "mixstream/monomials/row_block.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

using namespace mixstream;

TEST_CASE("a block keeps rows variable by variable until it is full") {
  RowBlock block(3, 64);
  for (int r = 0; r < 64; ++r) {
    CHECK(!block.full());
    block.append(std::array{1.0, 10.0 + r, 100.0 + r}.data(), 0.5 + r);
  }
  CHECK(block.full());
  CHECK(block.rows() == 64);
  for (std::size_t r = 0; r < 64; ++r) {
    CHECK(block.values()[r] == 1.0);
    CHECK(block.values()[column_stride(64) + r] == 10.0 + static_cast<double>(r));
    CHECK(block.values()[2 * column_stride(64) + r] == 100.0 + static_cast<double>(r));
    CHECK(block.weights()[r] == 0.5 + static_cast<double>(r));
  }
  block.clear();
  CHECK(block.rows() == 0);
}

TEST_CASE("columns start on cache lines") {
  for (const std::size_t rows : {64U, 128U, 192U, 256U}) {
    const RowBlock block(5, rows);
    CHECK(reinterpret_cast<std::uintptr_t>(block.values()) % 64 == 0);
    CHECK(column_stride(rows) * sizeof(double) % 64 == 0);
    CHECK(column_stride(rows) > rows);
  }
}
