#include "mixstream/moments/state.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "support/streams.hpp"

using namespace mixstream;
using streams::Stream;

namespace {

std::uint64_t held_rows(const MomentState& state) {
  const auto rows = state.bin_rows();
  return std::accumulate(rows.begin(), rows.end(), std::uint64_t{0});
}

/// A state with rows after the first block, so that the pilot is fixed and a block is partly filled.
MomentState busy_state(const Stream& stream) {
  return streams::filled(streams::settings_for(stream), stream);
}

}  // namespace

TEST_CASE("a refused row changes nothing but its count and the position") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const std::size_t rows : {10U, 200U}) {  // inside the first block, and after it
    const MomentState before = busy_state(streams::random_stream(rows, 1));
    const std::vector<double> x{1.0, 2.0};
    const auto refused = [&](const Row& row, RowFault expected) {
      MomentState state = before;
      CHECK(state.absorb(row) == expected);
      CHECK(state.row_counts()[static_cast<std::size_t>(expected)] == 1);
      CHECK(state.row_count() == rows);
      CHECK(state.moments().sums() == before.moments().sums());
      CHECK(state.sample().rows == before.sample().rows);
      CHECK(state.next_position() == before.next_position() + 1);
    };
    for (const double bad : {nan, infinity, -infinity}) {
      const RowFault expected = std::isnan(bad) ? RowFault::not_a_number : RowFault::infinite;
      refused({std::vector<double>{1.0, bad}, 0.0}, expected);
      refused({std::vector<double>{bad, 1.0}, 0.0}, expected);
      refused({x, bad}, expected);
      refused({x, 0.0, bad}, expected);
      refused({x, 0.0, 1.0, bad}, expected);
    }
    refused({std::vector<double>{1.0}, 0.0}, RowFault::wrong_width);
    refused({std::vector<double>{1.0, 2.0, 3.0}, 0.0}, RowFault::wrong_width);
    refused({std::vector<double>{1.0, -1.1e45}, 0.0}, RowFault::too_large);
    refused({x, 1.1e45}, RowFault::too_large);
    refused({x, 0.0, 1.0, 1.1e45}, RowFault::too_large);
    for (const double weight : {0.0, -1.0, 0.9e-100, 1.1e15, 1e300, 1e-300})
      refused({x, 0.0, weight}, RowFault::bad_weight);
    refused({std::vector<double>{2.0, 2.0}, 0.0}, RowFault::wrong_constant);
  }
}

TEST_CASE("the widest weights and magnitudes that are accepted keep everything finite") {
  for (const Memory memory : {Memory{}, Memory{Memory::Kind::half_life_rows, 3.0}}) {
    Stream stream{{3, 0}, {}, {}, {}, {}};
    std::mt19937_64 random(4);
    for (int i = 0; i < 3000; ++i) {
      const double weight = std::array{1e-100, 1e-9, 1.0, 1e9, 1e15}[random() % 5];
      const double size = std::array{1e-320, 1e-60, 1.0, 1e20, 1e45}[random() % 5];
      stream.add({1.0, size, -size * 0.7}, random() % 2 == 0 ? size : 1e-310, weight);
    }
    StateSettings settings = streams::settings_for(stream);
    settings.memory = memory;
    MomentState state = streams::make_state(settings);
    for (std::size_t i = 0; i < stream.size(); ++i) state.absorb(stream.row(i));
    CHECK(state.row_count() > 2000);
    const MomentTensor moments = state.moments();
    CHECK(streams::all_finite(moments));
    CHECK(streams::all_finite(moments.in_raw_coordinates()));
    CHECK(std::isfinite(moments.effective_rows));
    CHECK(moments.effective_rows >= 1.0);
    const Sample sample = state.sample();
    for (const double weight : sample.rows.weights) REQUIRE(std::isfinite(weight));
  }
}

TEST_CASE("rows of the first block are never shut out, however far apart they lie") {
  Stream stream{{2, 0}, {}, {}, {}, {}};
  for (int i = 0; i < 40; ++i) stream.add({1.0, i % 10 == 0 ? 1e45 : 1e-30 * i}, i == 3 ? -1e45 : 0.0);
  const MomentState state = streams::filled(streams::settings_for(stream), stream);
  CHECK(state.row_count() == 40);
  CHECK(held_rows(state) == 40);
}

TEST_CASE("subnormal variables make a usable pilot") {
  Stream stream{{2, 0}, {}, {}, {}, {}};
  for (int i = 0; i < 300; ++i) stream.add({1.0, 5e-324 * i}, -1e-310 * (i % 7));
  const MomentState state = streams::filled(streams::settings_for(stream), stream);
  CHECK(is_sound(state.pilot(), stream.layout));
  CHECK(streams::all_finite(state.moments()));
  CHECK(state.moments().total_weight() == 300.0);
}

TEST_CASE("very small and very large units lose no accuracy") {
  for (const double unit : {1e-44, 1e-20, 1e20, 1e43}) {
    Stream stream = streams::random_stream(900, 13);
    for (std::size_t i = 0; i < stream.size(); ++i) {
      stream.features[i][1] *= unit;
      stream.responses[i] /= unit;
    }
    CHECK(streams::worst_error(busy_state(stream).moments(), stream) < 1e-13);
  }
}

TEST_CASE("weights of all accepted sizes count for what they are") {
  Stream stream = streams::random_stream(900, 12);
  for (const double unit : {1e-100, 1e-50, 1e9, 1e13}) {
    for (std::size_t i = 0; i < stream.size(); ++i) stream.weights[i] = unit * static_cast<double>(1 + i % 9);
    const MomentTensor moments = busy_state(stream).moments();
    CHECK(streams::worst_error(moments, stream) < 1e-13);
    CHECK(moments.effective_rows ==
          doctest::Approx(900.0 * 5.0 * unit).epsilon(1e-12));  // a weight of 2 is two rows
  }
}

TEST_CASE("a mean of 1,000 beside a constant costs no digits against centred features") {
  const Stream centred = streams::random_stream(20000, 21, {{3, 0}, 0.0, 1.0, false});
  Stream far = centred;
  for (std::vector<double>& x : far.features) {
    for (std::size_t j = 1; j < x.size(); ++j) x[j] += 1000.0;
  }
  // adding 1,000 rounds the data itself; begin from the rounded rows
  Stream near = far;
  for (std::vector<double>& x : near.features) {
    for (std::size_t j = 1; j < x.size(); ++j) x[j] -= 1000.0;
  }
  const MomentTensor of_far = busy_state(far).moments();
  const MomentTensor of_near = busy_state(near).moments();
  CHECK(streams::worst_error(of_far, far) < 1e-13);
  CHECK(streams::worst_error(of_near, near) < 1e-13);
  // Sigma_3 about the mean: what a solver that centres would see
  Pilot about_mean = Pilot::identity(far.layout.variables());
  about_mean.shift[1] = about_mean.shift[2] = 1000.0;
  CHECK(streams::worst_error(of_far.in_coordinates(about_mean), far) < 1e-12);
  Stream without = far;  // the same rows summed raw lose the digits: the test above could fail
  const MomentTensor raw = of_far.in_raw_coordinates().in_coordinates(about_mean);
  CHECK(streams::worst_error(raw, without) > 1e-9);
}

TEST_CASE("a stream that begins quiet and grows ten times larger loses no row") {
  Stream stream = streams::random_stream(500, 5, {{3, 0}, 0.5, 1.0});
  stream.add(streams::random_stream(5000, 6, {{3, 0}, 5.0, 10.0}));
  const MomentState state = streams::filled(streams::settings_for(stream, 64, 256), stream);
  CHECK(state.row_count() == 5500);
  CHECK(held_rows(state) == 5500);
  CHECK(state.bin_rows()[1] > 1000);
  CHECK(streams::worst_error(state.moments(), stream) < 1e-12);
}

TEST_CASE("bins partition the rows by their largest variable, and their moments add up") {
  const Stream stream = streams::whole_stream(3000, 8);
  MomentState state = streams::make_state(streams::settings_for(stream));
  Pilot pilot = Pilot::identity(3);
  REQUIRE(state.set_pilot(pilot));
  streams::absorb(state, stream, 0, stream.size());
  std::array<std::uint64_t, bin_count> expected{};
  for (std::size_t i = 0; i < stream.size(); ++i) {
    const double largest = std::max(std::abs(stream.features[i][1]), std::abs(stream.responses[i]));
    ++expected[largest <= 4.0 ? 0 : largest <= 16.0 ? 1 : largest <= 256.0 ? 2 : 3];
  }
  CHECK(state.bin_rows() == expected);
  CHECK(expected[2] > 0);
  MomentTensor sum = state.moments({true, false, false, false});
  for (std::size_t b = 1; b < bin_count; ++b) {
    BinMask only{};
    only[b] = true;
    const MomentTensor part = state.moments(only);
    for (std::size_t i = 0; i < sum.sums().size(); ++i) sum.sums()[i] += part.sums()[i];
  }
  CHECK(sum.sums() == state.moments().sums());
}

TEST_CASE("a window holds its length exact to one pane") {
  const Stream stream = streams::whole_stream(700, 9);
  for (const auto& [length, panes] : {std::pair{64.0, 16}, {17.0, 16}, {100.0, 7}, {33.0, 2}, {16.0, 16}}) {
    StateSettings settings = streams::settings_for(stream, 8);
    settings.memory = {Memory::Kind::window_rows, length, panes};
    MomentState state = streams::make_state(settings);
    const auto pane = static_cast<std::uint64_t>(std::ceil(length / panes));
    for (std::size_t i = 0; i < stream.size(); ++i) {
      state.absorb(stream.row(i));
      const std::uint64_t held = held_rows(state);
      const auto wanted = std::min<std::uint64_t>(i + 1, static_cast<std::uint64_t>(length));
      REQUIRE(held + pane > wanted);
      REQUIRE(held < wanted + pane);
      if (i % 97 != 0 && i + 1 != stream.size()) continue;
      std::vector<double> weights(stream.weights.begin(), stream.weights.begin() + static_cast<long>(i + 1));
      weights.resize(stream.size(), 0.0);
      std::fill_n(weights.begin(), i + 1 - held, 0.0);  // exactly the youngest rows, no trace of the others
      REQUIRE(streams::worst_error(state.moments(), stream, weights) < 1e-13);
    }
    CHECK(state.row_count() == 700);
    CHECK(state.sample().rows.size() == 8);
  }
}

TEST_CASE("a window's sample holds rows of the window only") {
  Stream stream = streams::whole_stream(500, 10);
  for (std::size_t i = 0; i < stream.size(); ++i) stream.responses[i] = static_cast<double>(i);
  StateSettings settings = streams::settings_for(stream, 50);
  settings.memory = {Memory::Kind::window_rows, 40.0, 4};
  const MomentState state = streams::filled(settings, stream);
  const Sample sample = state.sample();
  CHECK(sample.rows.size() == held_rows(state));  // all of them: there is room
  for (const double number : sample.rows.responses) CHECK(number >= 460.0);
}

TEST_CASE("the pilot may be given before the first row, when it is sound") {
  MomentState state = streams::make_state(streams::settings_for(streams::random_stream(0, 1)));
  const Pilot good{{0.0, 3.0, -1.5}, {1.0, 0.25, 8.0}};
  const auto refuses = [&](const Pilot& pilot, Reason reason) {
    const Done done = state.set_pilot(pilot);
    REQUIRE_FALSE(done);
    CHECK(done.refusal().reason == reason);
  };
  refuses({{0.0, 3.0}, {1.0, 0.25}}, Reason::wrong_shape);
  refuses({{0.0, 3.0, -1.5}, {1.0, 0.3, 8.0}}, Reason::bad_settings);
  refuses({{0.0, 3.0, -1.5}, {1.0, -0.25, 8.0}}, Reason::bad_settings);
  refuses({{0.0, 3.0, -1.5}, {1.0, 0x1p-300, 8.0}}, Reason::bad_settings);
  refuses({{0.0, std::nan(""), -1.5}, {1.0, 0.25, 8.0}}, Reason::bad_settings);
  refuses({{1.0, 3.0, -1.5}, {1.0, 0.25, 8.0}}, Reason::bad_settings);
  CHECK(state.set_pilot(good));
  CHECK(state.pilot() == good);
  CHECK_FALSE(state.set_pilot(good));
  MomentState without = streams::make_state({.layout = {1, -1}});
  CHECK_FALSE(without.set_pilot(good));  // a shift without a constant leaves the model
}

TEST_CASE("settings out of range are refused by name") {
  const auto reason = [](auto change) {
    StateSettings settings;
    settings.layout = {2, 0};
    change(settings);
    const Outcome<std::uint64_t> bytes = bytes_needed(settings);
    return bytes ? "none" : std::string(name_of(bytes.refusal().reason));
  };
  CHECK(reason([](StateSettings&) {}) == "none");
  CHECK(reason([](StateSettings& s) { s.layout = {0, -1}; }) == "bad_settings");
  CHECK(reason([](StateSettings& s) { s.layout = {2, 2}; }) == "bad_settings");
  CHECK(reason([](StateSettings& s) { s.layout = {64, 0}; }) == "too_large");
  CHECK(reason([](StateSettings& s) { s.layout = {2147483647, -1}; }) == "too_large");
  CHECK(reason([](StateSettings& s) { s.reservoir_rows = 10'000'001; }) == "bad_settings");
  StateSettings usual{.layout = {2, 0}};
  StateSettings asked{.layout = {2, 0}, .reservoir_rows = 5000};
  CHECK(bytes_needed(usual).value() == bytes_needed(asked).value());
  CHECK(MomentState::create(usual).value().settings() == asked);
  CHECK(reason([](StateSettings& s) { s.pilot_rows = 0; }) == "bad_settings");
  CHECK(reason([](StateSettings& s) { s.pilot_rows = 65'537; }) == "bad_settings");
  using Kind = Memory::Kind;
  for (const double length : {0.0, -1.0, 1e16, std::nan(""), 1e-10}) {
    for (const Kind kind : {Kind::half_life_rows, Kind::half_life_seconds, Kind::window_rows})
      CHECK(reason([&](StateSettings& s) { s.memory = {kind, length}; }) == "bad_settings");
  }
  CHECK(reason([](StateSettings& s) { s.memory = {Kind::window_rows, 100.5}; }) == "bad_settings");
  CHECK(reason([](StateSettings& s) { s.memory = {Kind::window_rows, 100, 1}; }) == "bad_settings");
  CHECK(reason([](StateSettings& s) { s.memory = {Kind::window_rows, 1e6, 1025}; }) == "bad_settings");
  CHECK(reason([](StateSettings& s) { s.memory = {Kind::window_rows, 10, 16}; }) == "bad_settings");
}

TEST_CASE("moments and sample read the state without touching it") {
  for (const std::size_t rows : {0U, 5U, 200U}) {
    const MomentState state = busy_state(streams::random_stream(rows, 30));
    const MomentState copy = state;
    CHECK(state.moments().row_count == rows);
    CHECK(state.sample().rows.size() == std::min<std::size_t>(rows, 16));
    CHECK(state == copy);
    if (rows == 0) CHECK(state.moments().effective_rows == 0.0);
  }
}
