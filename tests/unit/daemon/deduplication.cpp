// The table of sequence numbers against a plain set of everything that was sent.
#include "store/deduplication.hpp"

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

using namespace mixstream;

namespace {

using Verdicts = std::vector<SequenceFate>;
constexpr auto fresh = SequenceFate::fresh;
constexpr auto duplicate = SequenceFate::duplicate;

Verdicts take_all(Deduplication& table, const std::vector<std::uint64_t>& numbers) {
  Verdicts verdicts;
  for (const std::uint64_t number : numbers) verdicts.push_back(table.take("s", 0, number));
  return verdicts;
}

}  // namespace

TEST_CASE("a number is fresh once") {
  Deduplication table;
  CHECK(take_all(table, {0, 1, 2, 1, 2, 0, 3}) ==
        Verdicts{fresh, fresh, fresh, duplicate, duplicate, duplicate, fresh});
  CHECK(table.gaps() == 0);
}

TEST_CASE("rows of several sensors do not meet") {
  Deduplication table;
  CHECK(table.take("a", 0, 5) == fresh);
  CHECK(table.take("b", 0, 5) == fresh);
  CHECK(table.take("a", 0, 5) == duplicate);
  CHECK(table.sensor_count() == 2);
}

TEST_CASE("a gap is counted, and uncounted when a late row fills it") {
  Deduplication table;
  take_all(table, {10, 14});
  CHECK(table.gaps() == 3);
  CHECK(take_all(table, {12}) == Verdicts{fresh});
  CHECK(table.gaps() == 2);
  CHECK(take_all(table, {12}) == Verdicts{duplicate});
  CHECK(table.gaps() == 2);
  take_all(table, {8});  // before the first that was seen: 9 is missing now too
  CHECK(table.gaps() == 3);
  take_all(table, {9, 11, 13});
  CHECK(table.gaps() == 0);
}

TEST_CASE("what is older than the window is refused, not guessed") {
  Deduplication table({.largest_jump = largest_sequence});
  take_all(table, {0, 1023});
  CHECK(take_all(table, {0, 1}) == Verdicts{duplicate, fresh});
  take_all(table, {2000});
  CHECK(take_all(table, {976, 977, 977}) == Verdicts{SequenceFate::too_old, fresh, duplicate});
  CHECK(take_all(table, {largest_sequence}) == Verdicts{fresh});
  CHECK(take_all(table, {2000}) == Verdicts{SequenceFate::too_old});
  CHECK(table.gaps() == largest_sequence + 1 - 6);
}

TEST_CASE(
    "a sensor that began anew counts from wherever it likes, and late rows of its last life are told apart") {
  Deduplication table;
  table.take("s", 1, 100);
  table.take("s", 1, 102);
  CHECK(table.take("s", 2, 100) == fresh);
  CHECK(table.take("s", 1, 102) == duplicate);
  CHECK(table.gaps() == 1);
  CHECK(table.take("s", 1, 101) == fresh);
  CHECK(table.gaps() == 0);
  CHECK(table.take("s", 5, 0) == fresh);
  CHECK(table.take("s", 2, 100) == duplicate);
  CHECK(table.take("s", 1, 103) == SequenceFate::old_epoch);
  CHECK(table.take("s", 4, 0) == SequenceFate::old_epoch);
}

TEST_CASE("gaps of a life that is no longer kept stay counted") {
  Deduplication table;
  table.take("s", 1, 0);
  table.take("s", 1, 5);
  table.take("s", 2, 0);
  table.take("s", 3, 0);
  CHECK(table.gaps() == 4);
}

TEST_CASE("sensors beyond the limit are refused; those known go on") {
  Deduplication table({.most_sensors = 2});
  CHECK(table.take("a", 0, 0) == fresh);
  CHECK(table.take("b", 0, 0) == fresh);
  CHECK(table.take("c", 0, 0) == SequenceFate::too_many_sensors);
  CHECK(table.take("a", 0, 1) == fresh);
  CHECK(table.sensor_count() == 2);
}

TEST_CASE(
    "random streams: nothing is folded twice, nothing inside the window is lost, gaps are what is missing") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    Deduplication table;
    std::set<std::tuple<std::string, std::uint64_t>> folded;
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> range;
    std::map<std::string, std::uint64_t> clock;
    for (int i = 0; i < 20000; ++i) {
      const std::string sensor(1, static_cast<char>('a' + random() % 3));
      clock[sensor] += random() % 3;
      const std::uint64_t back = random() % 1500;
      const std::uint64_t number = 2000 + clock[sensor] - (random() % 2 == 0 ? back : 0);
      const bool known = range.contains(sensor);
      auto& [lowest, highest] = range.try_emplace(sensor, number, number).first->second;
      const SequenceFate expected = known && number + 1024 <= highest   ? SequenceFate::too_old
                                    : folded.contains({sensor, number}) ? duplicate
                                                                        : fresh;
      REQUIRE(table.take(sensor, 7, number) == expected);
      if (expected != fresh) continue;
      folded.emplace(sensor, number);
      lowest = std::min(lowest, number);
      highest = std::max(highest, number);
      if (i % 1000 == 0) {
        Outcome<Deduplication> again = Deduplication::decode(table.encode(), {});
        REQUIRE(again);
        REQUIRE(again.value().read_notes(table.encode_notes()));
        CHECK(again.value() == table);
        table = again.value();
      }
    }
    std::uint64_t missing = 0;
    for (const auto& [sensor, ends] : range) {
      for (std::uint64_t number = ends.first; number <= ends.second; ++number)
        missing += folded.contains({sensor, number}) ? 0 : 1;
    }
    CHECK(table.gaps() == missing);
  }
}

TEST_CASE("one number far ahead is refused; sixteen in succession are believed, over a restart too") {
  Deduplication table;
  take_all(table, {0, 1});
  CHECK(take_all(table, {largest_sequence, 2}) == Verdicts{SequenceFate::sequence_jump, fresh});
  for (std::uint64_t i = 0; i < 15; ++i) {
    CHECK(table.take("s", 0, 5'000'000 + i) == SequenceFate::sequence_jump);
    Outcome<Deduplication> again = Deduplication::decode(table.encode(), {});
    REQUIRE(again);
    REQUIRE(again.value().read_notes(table.encode_notes()));
    table = again.value();
  }
  CHECK(table.take("s", 0, 5'000'015) == fresh);
  CHECK(table.take("s", 0, 3) == SequenceFate::too_old);
  CHECK(table.forget("s"));
  CHECK_FALSE(table.forget("s"));
  CHECK(table.take("s", 0, 3) == fresh);
  CHECK(table.take("new", 0, largest_sequence) == SequenceFate::sequence_jump);
  CHECK(table.take("s", largest_sequence, 0) == SequenceFate::sequence_jump);
  CHECK(table.take("s", 1'700'000'000, 0) == fresh);  // an epoch by the clock
}

TEST_CASE("a sensor that has not sent for long gives its place to a new one, and no other does") {
  Deduplication table({.most_sensors = 2, .sensor_expiry = 100.0});
  CHECK(table.take("a", 0, 0, 1000.0) == fresh);
  CHECK(table.take("b", 0, 0, 1050.0) == fresh);
  CHECK(table.take("c", 0, 0, 1090.0) == SequenceFate::too_many_sensors);
  CHECK(table.take("a", 0, 1, 1095.0) == fresh);
  CHECK(table.take("c", 0, 0, 1120.0) == SequenceFate::too_many_sensors);
  CHECK(table.take("c", 0, 0, 1151.0) == fresh);  // in the place of b
  CHECK(table.take("a", 0, 1, 1152.0) == duplicate);
  CHECK(table.take("b", 0, 0, 1153.0) == SequenceFate::too_many_sensors);
}

TEST_CASE("gaps that were opened stay counted when late rows fill them") {
  Deduplication table;
  take_all(table, {0, 10, 5});
  CHECK(table.gaps() == 8);
  CHECK(table.opened_gaps() == 9);
}

TEST_CASE("a table in bytes that tell no true story is refused") {
  Deduplication table;
  take_all(table, {3, 5});
  table.take("s", 2, 9);
  const Bytes bytes = table.encode();
  REQUIRE(Deduplication::decode(bytes, {}));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(Deduplication::decode(std::span(bytes).first(size), {}));
  // name "s" ends at byte 21; has_previous, then epoch, lowest, highest, seen and the bits of the current
  // epoch
  const auto refused_with = [&](std::size_t at, int value) {
    Bytes changed = bytes;
    changed[at] = static_cast<std::byte>(value);
    return !Deduplication::decode(changed, {});
  };
  CHECK(refused_with(21, 2));   // has_previous
  CHECK(refused_with(25, 0));   // the current epoch is not after the previous
  CHECK(refused_with(33, 10));  // lowest beyond highest
  CHECK(refused_with(49, 0));   // nothing seen
  CHECK(refused_with(49, 2));   // more seen than there is room
  CHECK(refused_with(57, 1));   // a bit outside
}
