#include "mixstream/moments/codec.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <string>

#include "support/states.hpp"
#include "support/streams.hpp"

using namespace mixstream;

namespace {

Bytes small_snapshot() {  // m = 3, 16 rows in the sample, a partial block, a tail bin, one guest
  const streams::Stream stream = streams::whole_stream(90, 2);
  StateSettings settings = streams::settings_for(stream, 16, 8);
  settings.feature_map = "1,t";
  settings.response = "y";
  const std::vector<Section> guests{{first_guest_type, Bytes(5, std::byte{7})}};
  return encode(streams::filled(settings, stream), guests);
}

bool refused_by_name(const Bytes& bytes) {
  const Outcome<Snapshot> decoded = decode(bytes);
  if (decoded) return false;
  const Reason reason = decoded.refusal().reason;
  return (reason == Reason::bad_snapshot || reason == Reason::unknown_version) &&
         !decoded.refusal().text.empty();
}

void flip(Bytes& bytes, std::size_t bit) {
  bytes[bit / 8] ^= std::byte{1} << (bit % 8);
}

}  // namespace

TEST_CASE("decode(encode(s)) == s in every phase, and goes on bit for bit") {
  for (const states::Phase& phase : states::every_phase()) {
    CAPTURE(phase.name);
    const std::vector<Section> guests{{first_guest_type + 3, Bytes(9, std::byte{1})}, {first_guest_type, {}}};
    const Bytes bytes = encode(phase.state, guests);
    Outcome<Snapshot> decoded = decode(bytes);
    REQUIRE(decoded);
    MomentState& back = decoded.value().state;
    CHECK(back == phase.state);
    CHECK(decoded.value().guests == guests);
    CHECK(encode(back, guests) == bytes);
    MomentState straight = phase.state;
    for (std::size_t i = 0; i < 400; ++i)
      CHECK(straight.absorb(phase.more.row(i)) == back.absorb(phase.more.row(i)));
    CHECK(back == straight);
    CHECK(back.moments().sums() == straight.moments().sums());
    CHECK(back.sample().rows == straight.sample().rows);
    CHECK(encode(back) == encode(straight));
  }
}

TEST_CASE("every flipped bit of a small snapshot is refused with a reason") {
  Bytes bytes = small_snapshot();
  REQUIRE(decode(bytes));
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    flip(bytes, bit);
    if (!refused_by_name(bytes)) FAIL("bit " << bit << " may flip unseen");
    flip(bytes, bit);
  }
}

TEST_CASE("every truncation and any extra byte is refused with a reason") {
  const Bytes bytes = small_snapshot();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    if (!refused_by_name(Bytes(bytes.begin(), bytes.begin() + static_cast<long>(size))))
      FAIL("cut to " << size << " bytes unseen");
  }
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  CHECK(refused_by_name(longer));
}

TEST_CASE("a hundred thousand random flips of a snapshot of 11 variables are refused with a reason") {
  const streams::Stream stream = streams::random_stream(300, 3, {{10, 0}});
  Bytes bytes = encode(streams::filled(streams::settings_for(stream, 16), stream));
  std::mt19937_64 random(17);
  for (int round = 0; round < 100000; ++round) {
    const std::size_t bit = random() % (8 * bytes.size());
    flip(bytes, bit);
    if (!refused_by_name(bytes)) FAIL("bit " << bit << " may flip unseen");
    flip(bytes, bit);
  }
}

TEST_CASE("behind a valid checksum, nothing that is read breaks the state") {
  const Bytes bytes = small_snapshot();
  const DecodeSettings unchecked{.memory_budget = 1 << 22, .trust_checksum = false};
  const double x[2] = {1.0, 2.0};
  std::size_t accepted = 0;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    Bytes damaged = bytes;
    flip(damaged, bit);
    Outcome<Snapshot> decoded = decode(damaged, unchecked);
    if (!decoded) continue;
    ++accepted;
    MomentState& state = decoded.value().state;
    for (int i = 0; i < 70; ++i) state.absorb({x, 1.0 + i});
    if (!streams::all_finite(state.moments())) FAIL("bit " << bit << " makes moments that are not finite");
  }
  CHECK(accepted > 0);
}

TEST_CASE("row numbers that only 64 bits can hold are refused on every processor") {
  const std::size_t reservoir_rows = 24 + 16 + 4 * 4 + 8;  // header, section head, what stands before
  for (const std::size_t place : {reservoir_rows, reservoir_rows + 8}) {
    Bytes bytes = small_snapshot();
    REQUIRE(decode(bytes, {.trust_checksum = false}));
    bytes[place + 4] = std::byte{1};  // 2^32 more
    CHECK_FALSE(decode(bytes, {.trust_checksum = false}));
  }
}

TEST_CASE(
    "a stored state without a sample is refused: nought asks for the usual one only where a state begins") {
  Bytes bytes = small_snapshot();
  const std::size_t reservoir_rows = 24 + 16 + 4 * 4 + 8;
  std::fill_n(bytes.begin() + reservoir_rows, 8, std::byte{0});
  CHECK_FALSE(decode(bytes, {.trust_checksum = false}));
}

TEST_CASE("a block longer than today's, as earlier versions left it, is folded in") {
  const streams::Stream stream = streams::small_numbers(150, 5, {11, 0});  // m = 12: 256 rows once, 192 now
  MomentState state = MomentState::create(streams::settings_for(stream, 1)).value();
  REQUIRE(state.set_pilot(Pilot::identity(12)));
  for (std::size_t i = 0; i < 150; ++i) REQUIRE(state.absorb(stream.row(i)) == RowFault::none);
  Bytes bytes = encode(state);
  for (std::size_t i = 0; i < 100; ++i) state.absorb(stream.row(i));  // what the longer block says
  // Sections of settings, progress and first block stand before the pane's. In that: rows, sum of squared
  // weights, sums, compensation, the number of rows that wait, and those rows, 12 variables and a weight
  // each.
  const auto add = [&](std::size_t place, std::uint64_t more) {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data() + place, sizeof number);
    number += more;
    std::memcpy(bytes.data() + place, &number, sizeof number);
    return number;
  };
  std::size_t pane = 24;
  for (int section = 0; section < 3; ++section) pane += 16 + add(pane + 8, 0);
  const std::size_t waiting = pane + 16 + 16 + 2 * 8 * Packing(12).size();
  const std::size_t inserted = 100 * 13 * sizeof(double);
  add(16, inserted);
  add(pane + 8, inserted);
  add(pane + 16, 100);
  bytes[waiting] = std::byte{250};
  const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(waiting + 4);
  const Bytes rows(first, first + static_cast<std::ptrdiff_t>(inserted));
  bytes.insert(first, rows.begin(), rows.end());
  const Outcome<Snapshot> decoded = decode(bytes, {.trust_checksum = false});
  REQUIRE(decoded);
  CHECK(decoded.value().state.moments().sums() == state.moments().sums());
  bytes[waiting + 1] = std::byte{1};  // 506 rows: no version wrote that
  CHECK_FALSE(decode(bytes, {.trust_checksum = false}));
}

TEST_CASE("what is refused says what is wrong") {
  const auto text = [](const Bytes& bytes, const DecodeSettings& settings = {}) {
    const Outcome<Snapshot> decoded = decode(bytes, settings);
    return decoded ? "accepted"
                   : std::string(name_of(decoded.refusal().reason)) + ": " + decoded.refusal().text;
  };
  Bytes bytes = small_snapshot();
  CHECK(text({}) == "bad_snapshot: this is not a mixstream state");
  CHECK(text(Bytes(bytes.begin(), bytes.begin() + 100)).find("cut short: 100 of") != std::string::npos);
  bytes[8] = std::byte{2};
  CHECK(text(bytes) == "unknown_version: the state has format version 2, this program reads version 1");
  bytes[8] = std::byte{1};
  bytes[200] ^= std::byte{1};
  CHECK(text(bytes).find("checksum") != std::string::npos);
  bytes[200] ^= std::byte{1};
  CHECK(text(bytes, {.memory_budget = 1000}).find("too_large") == 0);
  CHECK(text(bytes) == "accepted");
}
