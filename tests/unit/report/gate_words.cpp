#include "mixstream/report/gate_words.hpp"

#include <doctest/doctest.h>

namespace mixstream {
namespace {

ModesReport gated(std::vector<std::string> names, std::size_t laws, std::vector<double> gamma) {
  ModesReport modes;
  modes.kind = Modes::gated;
  modes.gate = std::move(names);
  modes.gate_coefficients = {laws, modes.gate.size(), std::move(gamma)};
  return modes;
}

TEST_CASE("a gate of one feature says where laws take over") {
  using Words = std::vector<std::string>;
  CHECK(takeovers(gated({"1", "temperature"}, 2, {8.5, -0.5, 0.0, 0.0})) ==
        Words{"law 2 takes over above temperature 17"});
  CHECK(takeovers(gated({"1", "temperature"}, 2, {-8.5, 0.5, 0.0, 0.0})) ==
        Words{"law 1 takes over above temperature 17"});
  // Three lines: the middle one is the highest between 4 and 6; lower by two it never is.
  CHECK(takeovers(gated({"1", "w"}, 3, {10.0, -2.0, 6.0, -1.0, 0.0, 0.0})) ==
        Words{"law 2 takes over above w 4", "law 3 takes over above w 6"});
  CHECK(takeovers(gated({"1", "w"}, 3, {10.0, -2.0, 4.0, -1.0, 0.0, 0.0})) ==
        Words{"law 3 takes over above w 5"});
}

TEST_CASE("no words where the gate has no one place") {
  CHECK(takeovers(gated({"1", "u", "v"}, 2, {1.0, 1.0, 1.0, 0.0, 0.0, 0.0})).empty());
  CHECK(takeovers(gated({"1", "u"}, 2, {1.0, 0.0, 0.0, 0.0})).empty());
  ModesReport persistent;
  persistent.kind = Modes::persistent;
  CHECK(takeovers(persistent).empty());
}

}  // namespace
}  // namespace mixstream
