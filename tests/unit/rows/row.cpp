#include "mixstream/rows/row.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

using namespace mixstream;

TEST_CASE("a row is judged by name before it touches anything") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> good{1.0, 2.0};
  const auto verdict = [](std::vector<double> x, double y, double w) { return check({x, y, w}, 2, 0); };
  CHECK(verdict(good, 3.0, 1.0) == RowFault::none);
  CHECK(verdict({1.0}, 3.0, 1.0) == RowFault::wrong_width);
  CHECK(verdict({1.0, nan}, 3.0, 1.0) == RowFault::not_a_number);
  CHECK(verdict(good, nan, 1.0) == RowFault::not_a_number);
  CHECK(verdict(good, 3.0, nan) == RowFault::not_a_number);
  CHECK(verdict({1.0, infinity}, 3.0, 1.0) == RowFault::infinite);
  CHECK(verdict(good, -infinity, 1.0) == RowFault::infinite);
  CHECK(verdict({1.0, infinity}, -infinity, 1.0) == RowFault::infinite);
  CHECK(verdict({1.0, 1e52}, 3.0, 1.0) == RowFault::too_large);
  CHECK(verdict(good, 1e300, 1.0) == RowFault::too_large);
  CHECK(verdict(good, 3.0, 0.0) == RowFault::bad_weight);
  CHECK(verdict(good, 3.0, -1.0) == RowFault::bad_weight);
  CHECK(verdict({2.0, 2.0}, 3.0, 1.0) == RowFault::wrong_constant);
  CHECK(check({good, 3.0, 1.0, nan}, 2, 0) == RowFault::not_a_number);
  CHECK(check({good, 3.0, 1.0, infinity}, 2, 0) == RowFault::infinite);
  CHECK(std::string(name_of(RowFault::not_a_number)) == "not_a_number");
}
