#include "sources/cutter.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace mixstream;

namespace {

struct Heard {
  std::string all;
  std::uint64_t end = 0;
  int too_long = 0;
};

/// Cuts a text that comes in pieces of one size.
Heard cut(const std::string& text, std::size_t size, const CutterSettings& settings) {
  Heard heard;
  Cutter cutter(settings);
  const Cutter::Give give = [&](std::string_view piece, std::uint64_t end, bool too_long) {
    if (too_long)
      ++heard.too_long;
    else
      heard.all += piece;
    CHECK(end >= heard.end);
    heard.end = end;
    if (!too_long && settings.row_bytes > 0 && end < text.size())
      CHECK(piece.size() % settings.row_bytes == 0);
    return true;
  };
  for (std::size_t at = 0; at < text.size(); at += size) CHECK(cutter.add(text.substr(at, size), give));
  CHECK(cutter.finish(give));
  return heard;
}

}  // namespace

TEST_CASE("lines come whole, however the bytes come") {
  const std::string text = "1,2\n3,4\r\n\n55,66\nlast";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    const Heard heard = cut(text, size, {});
    CHECK(heard.all == text);
    CHECK(heard.end == text.size());
  }
}

TEST_CASE("a line beyond the limit is told once and held nowhere") {
  const std::string text = "1\n" + std::string(1000, 'x') + "\n2\n";
  for (const std::size_t size : {1, 7, 100}) {
    const Heard heard = cut(text, size, {.longest_line = 50});
    CHECK(heard.all == "1\n2\n");
    CHECK(heard.too_long == 1);
    CHECK(heard.end == text.size());
  }
}

TEST_CASE("raw rows come whole") {
  const std::string text(16 * 10 + 5, 'z');
  for (const std::size_t size : {1, 15, 16, 17, 200}) CHECK(cut(text, size, {.row_bytes = 16}).all == text);
}

TEST_CASE("the end of a piece is where a restart goes on") {
  Cutter cutter({}, 100);
  std::vector<std::uint64_t> ends;
  const Cutter::Give give = [&](std::string_view, std::uint64_t end, bool) {
    ends.push_back(end);
    return true;
  };
  cutter.add("ab\ncd", give);
  cutter.add("e\nf", give);
  CHECK(ends == std::vector<std::uint64_t>{103, 107});
}
