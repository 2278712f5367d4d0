#include "mixstreamd/web/access.hpp"

#include <doctest/doctest.h>

using namespace mixstream::web;

namespace {

Request asked(std::string method, std::vector<std::pair<std::string, std::string>> headers) {
  return {.method = std::move(method), .path = "/api/v1/streams", .headers = std::move(headers)};
}

int status_of(const Access& access, const Request& request, bool open = false) {
  const std::optional<Response> refusal = access.refusal(request, open);
  return refusal ? refusal->status : 0;
}

}  // namespace

TEST_CASE("equal means equal") {
  CHECK(equal_in_constant_time("abc", "abc"));
  CHECK(equal_in_constant_time("", ""));
  CHECK_FALSE(equal_in_constant_time("abc", "abd"));
  CHECK_FALSE(equal_in_constant_time("bbc", "abc"));
  CHECK_FALSE(equal_in_constant_time("", "abc"));
  CHECK_FALSE(equal_in_constant_time("abc", ""));
  CHECK_FALSE(equal_in_constant_time("abcabc", "abc"));
  CHECK_FALSE(equal_in_constant_time("abc", "abcabc"));
}

TEST_CASE("with a token nothing but the page is answered without it") {
  const Access access("0123456789abcdef");
  CHECK(status_of(access, asked("GET", {{"host", "x"}})) == 401);
  CHECK(status_of(access, asked("GET", {{"host", "x"}}), true) == 0);
  CHECK(status_of(access, asked("GET", {{"authorization", "Bearer 0123456789abcdef"}})) == 0);
  for (const std::string wrong :
       {"Bearer 0123456789abcdeg", "Bearer ", "Bearer 0123456789abcdef0", "0123456789abcdef",
        "Basic 0123456789abcdef", "Bearer  0123456789abcdef", "bearer"})
    CHECK_MESSAGE(status_of(access, asked("GET", {{"authorization", wrong}})) == 401, wrong);
}

TEST_CASE("without a token a name that nobody configured is not answered: it may be a foreign page's") {
  const Access access("", {"Plant.example"});
  for (const std::string known : {"localhost", "LocalHost:8471", "127.0.0.1:8471", "127.0.0.1", "[::1]:8471",
                                  "192.168.1.7:1", "plant.example", "Plant.Example:8471"})
    CHECK_MESSAGE(status_of(access, asked("GET", {{"host", known}})) == 0, known);
  for (const std::string unknown : {"evil.example", "localhost.evil.example:8471", "127.0.0.1.evil.example",
                                    "", "[", "[x]", "127.0.0.1x", "plant.example.evil"})
    CHECK_MESSAGE(status_of(access, asked("GET", {{"host", unknown}})) == 421, unknown);
}

TEST_CASE("a POST from a foreign page is refused, a program's is not") {
  const Access access;
  CHECK(status_of(access, asked("POST", {{"host", "localhost:1"}})) == 0);
  CHECK(status_of(access, asked("POST", {{"host", "localhost:1"}, {"origin", "http://localhost:1"}})) == 0);
  for (const std::string foreign :
       {"http://localhost:2", "http://evil.example", "null", "", "http://localhost:1.evil"})
    CHECK_MESSAGE(status_of(access, asked("POST", {{"host", "localhost:1"}, {"origin", foreign}})) == 403,
                  foreign);
}
