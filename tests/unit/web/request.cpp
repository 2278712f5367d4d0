#include "mixstreamd/web/request.hpp"

#include <doctest/doctest.h>

using namespace mixstream::web;
using State = RequestReader::State;

namespace {

/// The status that a request is refused with; 0: it was read, -1: more is awaited.
int status_of(const std::string& bytes) {
  RequestReader reader;
  const State state = reader.take(bytes);
  return state == State::complete ? 0 : state == State::reading ? -1 : reader.refusal().status;
}

const std::string host = "Host: localhost\r\n";

}  // namespace

TEST_CASE("a request is read") {
  RequestReader reader;
  REQUIRE(reader.take(
              "POST /api/v1/streams/a/predict?x=1 HTTP/1.1\r\nHost: localhost:8471\r\nContent-LENGTH: 5\r\n"
              "X-Empty:\r\nContent-Type: \t application/json \r\n\r\nhello") == State::complete);
  const Request& request = reader.request();
  CHECK(request.method == "POST");
  CHECK(request.path == "/api/v1/streams/a/predict");
  CHECK(request.body == "hello");
  CHECK(request.keep_alive);
  REQUIRE(request.header("content-type") != nullptr);
  CHECK(*request.header("content-type") == "application/json");
  CHECK(*request.header("x-empty") == "");
  CHECK(request.header("accept") == nullptr);
}

TEST_CASE("pieces of any size make the same request, and the next one follows") {
  const std::string one = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
  const std::string two = "GET /b HTTP/1.1\r\nHost: x\r\n\r\n";
  for (std::size_t piece = 1; piece <= one.size() + two.size(); ++piece) {
    RequestReader reader;
    std::vector<std::string> seen;
    const std::string bytes = one + two;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      State state = reader.take(bytes.substr(at, piece));
      for (; state == State::complete; state = reader.next())
        seen.push_back(reader.request().method + reader.request().path + reader.request().body);
      REQUIRE(state == State::reading);
    }
    CHECK(seen == std::vector<std::string>{"POST/aabc", "GET/b"});
    CHECK_FALSE(reader.has_begun());
  }
}

TEST_CASE("a connection ends where HTTP says so") {
  const auto keeps = [](const std::string& bytes) {
    RequestReader reader;
    REQUIRE(reader.take(bytes) == State::complete);
    return reader.request().keep_alive;
  };
  CHECK(keeps("GET / HTTP/1.1\r\n" + host + "\r\n"));
  CHECK_FALSE(keeps("GET / HTTP/1.1\r\n" + host + "Connection: Close\r\n\r\n"));
  CHECK_FALSE(keeps("GET / HTTP/1.1\r\n" + host + "Connection: foo, close\r\n\r\n"));
  CHECK(keeps("GET / HTTP/1.1\r\n" + host + "Connection: closed\r\n\r\n"));
  CHECK_FALSE(keeps("GET / HTTP/1.0\r\n\r\n"));
}

TEST_CASE("what could be read in two ways is refused") {
  CHECK(status_of("GET / HTTP/1.1\n" + host + "\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\nHost: x\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\rHost: x\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\n" + host + "Content-Length : 3\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\n" + host + " folded: 3\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\n" + host + "X: a\r\n\tb\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\n\r\n") == 400);
  for (const std::string length : {"+3", "-1", "3 ", "0x3", "3,3", "", "three", "3.0"})
    CHECK_MESSAGE(status_of("POST / HTTP/1.1\r\n" + host + "Content-Length: " + length + "\r\n\r\nabc") ==
                      (length == "3 " ? 0 : 400),
                  length);
  CHECK(status_of("POST / HTTP/1.1\r\n" + host + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc") == 400);
  CHECK(status_of("POST / HTTP/1.1\r\n" + host +
                  "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc") == 400);
  CHECK(status_of("POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n") == 411);
  CHECK(status_of("POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: xchunked\r\n\r\n") == 411);
}

TEST_CASE("request lines are refused by name") {
  for (const std::string line :
       {"GET /", "GET  / HTTP/1.1 ", "get / HTTP/1.1", "GET / / HTTP/1.1", "GET\t/ HTTP/1.1",
        "GET http://x/ HTTP/1.1", "OPTIONS * HTTP/1.1", "GET /\xC3\xA4 HTTP/1.1", "GET / HTTP1.1",
        " GET / HTTP/1.1", "G3T / HTTP/1.1"})
    CHECK_MESSAGE(status_of(line + "\r\n" + host + "\r\n") == 400, line);
  CHECK(status_of("PRI * HTTP/2.0\r\n" + host + "\r\n") == 505);
  CHECK(status_of("GET / HTTP/1.2\r\n" + host + "\r\n") == 505);
  CHECK(status_of(std::string("GET /\0 HTTP/1.1\r\n", 18) + host + "\r\n") == 400);
  CHECK(status_of("\x16\x03\x01") == 400);  // TLS to a plain port: told at once
}

TEST_CASE("what is too long is refused as soon as that is clear") {
  CHECK(status_of("GET /" + std::string(3000, 'a')) == 414);
  CHECK(status_of("GET /" + std::string(2047, 'a') + " HTTP/1.1\r\n" + host + "\r\n") == 0);
  CHECK(status_of("GET /" + std::string(2048, 'a') + " HTTP/1.1\r\n" + host + "\r\n") == 414);
  CHECK(status_of("GET / HTTP/1.1\r\nX: " + std::string(8192, 'a')) == 431);
  std::string many = "GET / HTTP/1.1\r\n" + host;
  for (int i = 0; i < 64; ++i) many += "A: b\r\n";
  CHECK(status_of(many + "\r\n") == 431);
  const std::string post = "POST / HTTP/1.1\r\n" + host + "Content-Length: ";
  CHECK(status_of(post + "65536\r\n\r\n") == -1);
  CHECK(status_of(post + "65537\r\n\r\n") == 413);
  CHECK(status_of(post + "99999999999999999999999\r\n\r\n") == 413);
}

TEST_CASE("a body that waits for leave gets it once") {
  RequestReader reader;
  REQUIRE(reader.take("POST / HTTP/1.1\r\n" + host + "Content-Length: 2\r\nExpect: 100-Continue\r\n\r\n") ==
          State::reading);
  CHECK(reader.take_continue());
  CHECK_FALSE(reader.take_continue());
  CHECK(reader.take("ab") == State::complete);
  CHECK_FALSE(reader.take_continue());
  CHECK(status_of("POST / HTTP/1.1\r\n" + host + "Expect: more\r\n\r\n") == 417);
}
