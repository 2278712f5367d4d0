#include "mixstream/moments/moments.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "mixstream/moments/codec.hpp"
#include "mixstream/moments/state.hpp"

using namespace mixstream;

namespace {

template <class Sums>
void absorb_rows(Sums& sums, int from, int to) {
  for (int i = from; i < to; ++i) {
    const double x[] = {1.0, std::sin(0.7 * i)};
    REQUIRE(sums.absorb({x, std::cos(1.3 * i)}) == RowFault::none);
  }
}

}  // namespace

TEST_CASE("moments alone are the state's bytes, and come back from them") {
  const StateSettings settings{.layout = {2, 0}};
  Moments moments = Moments::create(settings).value();
  MomentState state = MomentState::create(settings).value();
  moments.go_on_at({10, 3});
  state.begin_source(3, 10);
  absorb_rows(moments, 0, 400);
  absorb_rows(state, 0, 400);
  CHECK(moments.encode() == encode(state));
  CHECK(Moments::decode(moments.encode()).value() == moments);
  CHECK(moments.row_count() == 400);
}

TEST_CASE("moments merge as states do; a copy stays, damaged bytes are refused") {
  const StateSettings settings{.layout = {2, 0}};
  Moments one = Moments::create(settings).value();
  Moments other = Moments::create(settings).value();
  other.go_on_at({0, 1});
  absorb_rows(one, 0, 400);
  absorb_rows(other, 400, 700);
  const Moments before = one;
  REQUIRE(one.merge(other));
  CHECK(one.row_count() == 700);
  CHECK(before.row_count() == 400);
  CHECK_FALSE(one.merge(Moments::create({.layout = {3, 0}}).value()));
  Bytes bytes = one.encode();
  bytes.resize(bytes.size() / 2);
  CHECK(Moments::decode(bytes).refusal().reason == Reason::bad_snapshot);
}

TEST_CASE("a row that says where it stands has its place whatever came before") {
  const StateSettings settings{.layout = {2, 0}, .reservoir_rows = 50};
  Moments said = Moments::create(settings).value();
  Moments counted = Moments::create(settings).value();
  for (std::uint64_t i = 0; i < 500; ++i) {
    const double x[] = {1.0, std::sin(0.7 * static_cast<double>(i))};
    counted.absorb({x, 2.0 * x[1]});
    said.go_on_at({1000 - i, 5});
    said.absorb({x, 2.0 * x[1]}, {i, 0});
  }
  CHECK(said.encode() == counted.encode());
}
