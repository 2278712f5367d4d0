#include "input/time.hpp"

#include <doctest/doctest.h>

#include "unit/input/collect.hpp"

using namespace mixstream;

namespace {

double seconds(std::string_view text) {
  const ParsedNumber parsed = parse_time(text);
  CHECK(parsed.kind == NumberKind::number);
  return parsed.value;
}

}  // namespace

TEST_CASE("ISO 8601 times with and without zones are seconds since 1970") {
  CHECK(seconds("1970-01-01") == 0.0);
  CHECK(seconds("2024-02-29T12:30") == 1709209800.0);
  CHECK(seconds("2024-02-29 12:30:15.25Z") == 1709209815.25);
  CHECK(seconds(" 2024-02-29T14:30:00+02:00 ") == 1709209800.0);
  CHECK(seconds("2024-02-29T04:30:00-0800") == 1709209800.0);
  CHECK(seconds("20240229T123000Z") == 1709209800.0);
  CHECK(seconds("2024/02/29 12:30 UTC") == 1709209800.0);
  CHECK(seconds("1969-12-31T23:59:59Z") == -1.0);
}

TEST_CASE("days with points, and twelve hours behind a month, are read as people write them") {
  CHECK(seconds("29.02.2024") == 1709164800.0);
  CHECK(seconds("29.02.2024 12:30:15,25") == 1709209815.25);
  CHECK(seconds("1.3.2024 6:05") == 1709273100.0);
  CHECK(seconds("02/29/2024 12:30 PM") == 1709209800.0);
  CHECK(seconds("2/29/2024 12:30:00 AM") == 1709166600.0);
  CHECK(seconds("2/29/2024 1:30:00 pm") == 1709213400.0);
  for (const char* text : {"29.02.24", "30.02.2024", "1.2.3", "10.0.0.1", "02/29/2024", "02/29/2024 12:30",
                           "29/02/2024 1:30 PM", "02/29/2024 13:30 PM", "02/29/2024 0:30 AM"}) {
    CAPTURE(text);
    CHECK(parse_time(text).kind == NumberKind::text);
  }
}

TEST_CASE("the unit of a clock follows from its size") {
  CHECK(clock_unit(1714543200.0) == 1.0);
  CHECK(clock_unit(-1714543200000.0) == 1e-3);
  CHECK(clock_unit(1714543200000000.0) == doctest::Approx(1e-6));
}

TEST_CASE("what is no time is none") {
  for (const char* text :
       {"", "2024", "20240229", "2024-02-30", "2023-02-29", "2024-13-01", "2024-02-29T25:00",
        "2024-02-29T12:61", "2024-02-29T12:30:15.", "2024-02-29 12:30 CET", "2024-02-29+02:00", "12:30",
        "1709209800", "1.5e3", "2024-02-29T12:30+99:00", "2024-02-29x"}) {
    CAPTURE(text);
    CHECK(parse_time(text).kind == NumberKind::text);
  }
}

TEST_CASE("a column of times may hold both kinds, and only that column") {
  const std::string bytes = "at,y\n2024-02-29T12:30Z,1\n1709209801,2\n";
  const Collected all = collect(bytes, {}, {.numbers = {"at", "y"}, .time = "at"});
  CHECK(all.rows() == std::vector<std::vector<double>>{{1709209800, 1}, {1709209801, 2}});
  CHECK(collect(bytes).faults() == std::vector<std::string>{"not_a_number"});
}
