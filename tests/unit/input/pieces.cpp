// The same bytes must give the same rows however they arrive.
#include <doctest/doctest.h>

#include <random>
#include <string>

#include "collect.hpp"

using namespace mixstream;

namespace {

struct Case {
  std::string bytes;
  InputSettings settings{};
  Selection selection{};
};

std::vector<Case> cases() {
  const Selection with_text{.numbers = {"v"}, .text = "n", .keep_lines = true};
  InputSettings narrow;
  narrow.max_line = 12;
  InputSettings no_header;
  no_header.header = false;
  return {
      {"\xEF\xBB\xBF"
       "a,b\r\n1.25,-2e3\r\n\r\n# c\r\n3,4"},
      {"n,v\n\"a\"\"b\",1\n\"x\ny\",2\n\"\",3\n\"p,q\",4\r\n", {}, with_text},
      {"n,v\n\"open,1\nx,2\n\"y\"z,3\nw,4\n", {}, with_text},
      {"n,v\n\"op\nen\",1\r\n\"x\r\ny\"\r,2\n\"q\"\r\n", {}, with_text},
      {"a,b\n1,2\n1234567890123,5\n3,4\n99999999999999999", narrow},
      {"n,v\n\"aaaa\nbbbb\ncccc\ndddd\",1\nx,2\n", narrow, {.numbers = {"v"}}},
      {std::string("a,b\n1,2\n\0,3\n4,\0\n5,6\n", 20)},
      {"a;b\n1;x\n;2\nNA;3\ninf;4\n5\n6;7;8\n9;10\n"},
      {"\xEF\xBB"
       "a,b\n1,2\n"},
      {"1|2\n3|4\n", no_header},
      {"{\"a\":1,\"b\":\"2\"}\n\n{\"b\":3}\r\n{\"a\":null,\"b\":1}\nnot\n{\"b\":[1],\"a\":2}\n{\"a\":4,\"b\":"
       "5}"},
      {"{\"n\":\"s\\u00e9\\n\",\"v\":1}\n{\"v\":2,\"n\":17}\n{\"v\":3,\"n\":true}\n{\"v\":3,\"n\":null}\n",
       {},
       with_text},
      {"", {}},
      {"\xFF\xFE"
       "a,b\n"},
      {"\xEF\xBB\xBF\xFE\xFF,b\n1,2\n"},
      {"{\"a\":x}\n{\"a\":123456789}\n{\"a\":1}\n", narrow},
      {"{\"a\":1}\n{\"a\":111111111}\n{\"a\":2}\n", narrow},
  };
}

}  // namespace

TEST_CASE("every cut into two pieces gives the rows of the whole") {
  for (const Case& it : cases()) {
    const Collected whole = collect(it.bytes, it.settings, it.selection);
    for (std::size_t cut = 1; cut < it.bytes.size(); ++cut) {
      CAPTURE(it.bytes);
      CAPTURE(cut);
      CHECK(collect(it.bytes, it.settings, it.selection, {cut, it.bytes.size()}) == whole);
    }
  }
}

TEST_CASE("every cut into three pieces, and single bytes with interruptions, give the rows of the whole") {
  for (const Case& it : cases()) {
    const Collected whole = collect(it.bytes, it.settings, it.selection);
    CAPTURE(it.bytes);
    for (std::size_t first = 1; first < it.bytes.size(); ++first) {
      for (std::size_t second = 1; first + second < it.bytes.size(); ++second) {
        const bool same =
            collect(it.bytes, it.settings, it.selection, {first, second, it.bytes.size()}) == whole;
        if (!same) CAPTURE(first);
        if (!same) CAPTURE(second);
        REQUIRE(same);
      }
    }
    CHECK(collect(it.bytes, it.settings, it.selection, {1}) == whole);
    CHECK(collect(it.bytes, it.settings, it.selection, {0, 1, 0, 2, 0, 0, 1}) == whole);
  }
}

TEST_CASE("random text gives the same rows in random pieces and random batches") {
  std::mt19937 random(11);
  const std::string alphabet = "01.,\n\"\r#- e";
  for (int trial = 0; trial < 4000; ++trial) {
    std::string bytes = "a,b\n";
    const std::size_t length = random() % 60;
    for (std::size_t i = 0; i < length; ++i) bytes += alphabet[random() % alphabet.size()];
    InputSettings settings;
    settings.max_line = 1 + random() % 30;
    const Collected whole = collect(bytes, settings, {.numbers = {"b"}, .text = "a", .keep_lines = true});
    settings.batch_rows = 1 + random() % 4;
    settings.chunk = 16 + random() % 40;
    std::vector<std::size_t> pieces;
    for (int i = 0; i < 20; ++i) pieces.push_back(1 + random() % 5);
    CAPTURE(bytes);
    CHECK(collect(bytes, settings, {.numbers = {"b"}, .text = "a", .keep_lines = true}, pieces) == whole);
  }
}
