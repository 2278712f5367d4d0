// Rows out of values that come on topics of their own.
#include "columns/joiner.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

using namespace mixstream;

namespace {

const ColumnSettings settings{
    .topics = {{"flow", "plant/+/flow"}, {"power", "plant/+/power"}, {"speed", "plant/+/speed"}},
    .trigger = "power",
    .tolerance = 10.0};
const ValueFields fields{.time = "time", .sequence = "seq", .epoch = ""};

Joiner joiner() {
  return {settings, fields, 3, 60.0};
}

/// The row's numbers, or its refusal, or "" where the message makes none.
std::string said(Joiner& join, const std::string& topic, const std::string& payload, double arrival) {
  const Joined joined = join.take(topic, std::as_bytes(std::span(payload)), arrival);
  if (joined.refused != nullptr) return joined.refused;
  std::string text;
  for (std::size_t i = 0; i < joined.row.size() / sizeof(double); ++i) {
    double value = 0.0;
    std::memcpy(&value, joined.row.data() + i * sizeof(double), sizeof value);
    text += (text.empty() ? std::string(joined.sensor) + ":" : ",") +
            (std::isnan(value) ? "-" : std::to_string(static_cast<int>(value)));
  }
  return text;
}

}  // namespace

TEST_CASE("the trigger's value takes the newest of the others, of its own sensor") {
  Joiner join = joiner();
  CHECK(Joiner::columns(settings, fields) ==
        std::vector<std::string>{"flow", "power", "speed", "time", "seq"});
  CHECK(said(join, "plant/7/power", "5", 100) == "no_value_yet");
  CHECK(said(join, "plant/7/flow", "1", 101).empty());
  CHECK(said(join, "plant/7/speed", "2", 102).empty());
  CHECK(said(join, "plant/8/flow", "9", 102).empty());
  CHECK(said(join, "plant/7/power", "5", 103) == "7:1,5,2,103,-");
  CHECK(said(join, "plant/7/flow", "3", 104).empty());
  CHECK(said(join, "plant/7/power", R"({"value":6,"seq":4})", 105) == "7:3,6,2,105,4");
  CHECK(said(join, "plant/8/power", "5", 105) == "no_value_yet");
  CHECK(said(join, "plant/7/power", "5", 112) == "7:3,5,2,112,-");
  CHECK(said(join, "plant/7/power", "5", 112.5) == "stale_value");  // speed is 10.5 s old
}

TEST_CASE("values have the times that they say") {
  Joiner join = joiner();
  CHECK(said(join, "plant/7/speed", R"({"value":2,"time":100})", 200).empty());
  CHECK(said(join, "plant/7/flow", R"({"value":1,"time":100})", 200).empty());
  CHECK(said(join, "plant/7/flow", R"({"value":9,"time":104})", 200).empty());
  CHECK(said(join, "plant/7/flow", R"({"value":4,"time":102})", 200).empty());  // late
  CHECK(said(join, "plant/7/power", R"({"value":5,"time":99})", 200) == "no_value_yet");
  CHECK(said(join, "plant/7/power", R"({"value":5,"time":101})", 200) == "7:1,5,2,101,-");
  CHECK(said(join, "plant/7/power", R"({"value":5,"time":103})", 200) == "7:4,5,2,103,-");
  CHECK(said(join, "plant/7/power", R"({"value":5,"time":104})", 200) == "7:9,5,2,104,-");
  CHECK(said(join, "plant/7/flow", R"({"value":8,"time":104})", 200).empty());  // again, corrected
  CHECK(said(join, "plant/7/power", R"({"value":5,"time":104})", 200) == "7:8,5,2,104,-");
  CHECK(said(join, "plant/7/flow", R"({"value":8,"time":300})", 200) == "clock_ahead");
}

TEST_CASE("what is no value is refused by name, and memory is bounded") {
  Joiner join = joiner();
  CHECK(said(join, "plant/7/flow", "", 1) == "not_a_number");
  CHECK(said(join, "plant/7/flow", "abc", 1) == "not_a_number");
  CHECK(said(join, "plant/7/flow", "[1]", 1) == "not_a_number");
  CHECK(said(join, "plant/7/flow", R"({"time":1})", 1) == "missing_value");
  CHECK(said(join, "plant/7/flow", R"({"value":null})", 1) == "missing_value");
  CHECK(said(join, "plant/7/flow", R"({"value":1,"time":"x"})", 1) == "not_a_number");
  CHECK(said(join, "plant/7/other", "1", 1) == "no_column");
  CHECK(said(join, "plant/" + std::string(300, 'x') + "/flow", "1", 1) == "bad_sensor");
  CHECK(join.sensor_count() == 0);
  for (const char* const sensor : {"a", "b", "c"})
    CHECK(said(join, std::string("plant/") + sensor + "/flow", "1", 1).empty());
  CHECK(said(join, "plant/d/flow", "1", 1) == "too_many_sensors");
  const std::size_t few = join.encode().size();
  for (int i = 0; i < 1000; ++i) said(join, "plant/a/flow", "1", 2.0 + i);
  CHECK(join.encode().size() == few + 7 * 16);
}

TEST_CASE("a joiner read back makes the same rows") {
  Joiner join = joiner();
  for (int i = 0; i < 20; ++i) {
    said(join, "plant/7/flow", std::to_string(i), 100 + i);
    said(join, "plant/7/speed", std::to_string(-i), 100 + i);
  }
  const Bytes bytes = join.encode();
  Joiner again = joiner();
  REQUIRE(again.restore(bytes));
  CHECK(again.encode() == bytes);
  CHECK(said(again, "plant/7/power", "5", 117) == said(join, "plant/7/power", "5", 117));
  for (std::size_t cut = 0; cut < bytes.size(); cut += 7) {
    Joiner damaged = joiner();
    CHECK_FALSE(damaged.restore(std::span(bytes).first(cut)));
  }
  CHECK(wildcards_of("a/+/b/+", "a/x/b/y") == "x/y");
}
