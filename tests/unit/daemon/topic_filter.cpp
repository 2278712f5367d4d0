#include "sources/topic_filter.hpp"

#include <doctest/doctest.h>

using namespace mixstream;

TEST_CASE("filters that a broker would refuse are refused, others are not") {
  for (const char* sound :
       {"a", "/", "a/b", "+", "#", "a/+/c", "a/#", "+/+/#", "$SYS/#", "$share/g/a/+", "/a"})
    CHECK_MESSAGE(static_cast<bool>(check_filter(sound)), sound);
  for (const char* bad :
       {"", "a/#/b", "a#", "a+/b", "#/a", "$share/g", "$share//a", "$share/g/", "$share/g+/a", "a\nb"})
    CHECK_MESSAGE(!static_cast<bool>(check_filter(bad)), bad);
}

TEST_CASE("a topic matches a filter as the protocol has it") {
  CHECK(filter_matches("a/+/c", "a/b/c"));
  CHECK(filter_matches("a/#", "a"));
  CHECK(filter_matches("a/#", "a/b/c"));
  CHECK(filter_matches("#", "a/b"));
  CHECK(filter_matches("+/b", "/b"));
  CHECK(filter_matches("$share/g/a/+", "a/b"));
  CHECK_FALSE(filter_matches("a/+", "a/b/c"));
  CHECK_FALSE(filter_matches("a/b", "a"));
  CHECK_FALSE(filter_matches("a", "a/b"));
  CHECK_FALSE(filter_matches("#", "$SYS/uptime"));
  CHECK_FALSE(filter_matches("+/uptime", "$SYS/uptime"));
  CHECK(filter_matches("$SYS/#", "$SYS/uptime"));
}

TEST_CASE("filters that some topic matches both of overlap; shared ones by what they share") {
  CHECK(filters_overlap("a/+", "+/b"));
  CHECK(filters_overlap("a/#", "a"));
  CHECK(filters_overlap("$share/g/a/b", "a/+"));
  CHECK_FALSE(filters_overlap("a/+", "b/+"));
  CHECK_FALSE(filters_overlap("a/+", "a/b/c"));
}

TEST_CASE("levels count from one, and a filter promises those before its #") {
  CHECK(level_of("plant/7/pump", 2) == "7");
  CHECK(level_of("plant/7/pump", 4).empty());
  CHECK(filter_has_level("plant/+/pump", 3));
  CHECK(filter_has_level("$share/g/plant/+", 2));
  CHECK_FALSE(filter_has_level("plant/#", 2));
  CHECK_FALSE(filter_has_level("plant/+", 0));
}
