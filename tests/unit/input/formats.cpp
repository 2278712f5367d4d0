#include <doctest/doctest.h>
#include <zlib.h>
#include <zstd.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "collect.hpp"

using namespace mixstream;

namespace {

using Rows = std::vector<std::vector<double>>;
using Names = std::vector<std::string>;

template <class Number>
std::string raw_bytes(const std::vector<Number>& numbers) {
  std::string bytes(numbers.size() * sizeof(Number), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string result(deflateBound(&stream, bytes.size()), '\0');
  std::string input = bytes;
  stream.next_in = reinterpret_cast<unsigned char*>(input.data());
  stream.avail_in = static_cast<unsigned>(input.size());
  stream.next_out = reinterpret_cast<unsigned char*>(result.data());
  stream.avail_out = static_cast<unsigned>(result.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

std::string zstd_compressed(const std::string& bytes) {
  std::string result(ZSTD_compressBound(bytes.size()), '\0');
  result.resize(ZSTD_compress(result.data(), result.size(), bytes.data(), bytes.size(), 3));
  return result;
}

std::string many_rows(int count) {
  std::string bytes = "a,b\n";
  for (int i = 0; i < count; ++i)
    bytes.append(std::to_string(i)).append(",").append(std::to_string(i * 0.37)).append("\n");
  return bytes;
}

}  // namespace

TEST_CASE("NDJSON rows are chosen by key, in any order of the keys") {
  const Collected all =
      collect("{\"t\":1,\"y\":2.5,\"s\":\"x\"}\n{\"s\":\"y\",\"y\":-3e2,\"t\":18446744073709551615}\n", {},
              {.numbers = {"y", "t"}, .text = "s"});
  CHECK(all.refusal == "");
  CHECK(all.columns == Names{"t", "y", "s"});
  CHECK(all.rows() == Rows{{2.5, 1}, {-300, 18446744073709551615.0}});
  CHECK(all.entries[1].text == "y");
}

TEST_CASE("keys of objects in objects are told by a point") {
  const std::string bytes =
      "{\"t\":1,\"motor\":{\"load\":2,\"at\":{\"x\":3}}}\n{\"motor\":{\"at\":{\"x\":6},\"load\":5},\"t\":4}"
      "\n";
  CHECK(collect(bytes).columns == Names{"t", "motor.load", "motor.at.x"});
  CHECK(collect(bytes).rows() == Rows{{1, 2, 3}, {4, 5, 6}});
  CHECK(collect(bytes, {}, {.numbers = {"motor.load"}}).rows() == Rows{{2}, {5}});
}

TEST_CASE("NDJSON faults are named and reading goes on") {
  const Collected all = collect(
      "{\"t\":1,\"y\":2}\n{\"t\":1}\n{\"t\":1,\"y\":null}\n{\"t\":1,\"y\":\"NaN\"}\n{\"t\":{\"u\":1},\"y\":2}"
      "\n{\"t\":1,\"y\":true}\n"
      "[1,2]\n{\"t\":1,\"y\":2} "
      "x\n{\"t\":1,\"y\":}\n{\"t\":1,\"y\":2}{\"t\":1,\"y\":2}\n17\n{\"t\":\"4\",\"y\":\" "
      "5e0\"}\n{\"t\":1,\"y\":\"abc\"}\n");
  CHECK(all.rows() == Rows{{1, 2}, {4, 5}});
  CHECK(all.faults() == Names{"missing_key", "missing_value", "missing_value", "not_a_number", "not_a_number",
                              "bad_json", "bad_json", "bad_json", "bad_json", "bad_json", "not_a_number"});
  CHECK(all.entries[1].words == "line 2: column \"y\": the object lacks this key");
  CHECK(all.entries.back().words == "line 13: column \"y\": \"abc\" is not a number");
}

TEST_CASE("a key that an object holds twice counts with its last value") {
  CHECK(collect("{\"a\":1,\"a\":2}\n").rows() == Rows{{2}});
}

TEST_CASE("a stream that is said to be NDJSON may begin with junk, which is refused line by line") {
  InputSettings settings;
  settings.format = Format::ndjson;
  const Collected all = collect("junk\n\n{\"a\":1}\n", settings);
  CHECK(all.rows() == Rows{{1}});
  CHECK(all.faults() == Names{"bad_json"});
  CHECK(collect("junk\n", settings).refusal != "");
}

TEST_CASE("raw rows of doubles and floats are read as they are") {
  InputSettings settings;
  settings.format = Format::f64;
  settings.raw_width = 3;
  const std::string doubles = raw_bytes<double>({1, 2, 3, 4, -0.1, 6e300});
  for (const std::size_t piece : {1, 7, 24, 48}) {
    const Collected all = collect(doubles, settings, {.numbers = {"c3", "c1"}, .keep_lines = true}, {piece});
    CHECK(all.rows() == Rows{{3, 1}, {6e300, 4}});
    CHECK(all.entries[1].place.offset == 24);
    CHECK(all.entries[1].line == doubles.substr(24));
  }
  settings.format = Format::f32;
  CHECK(collect(raw_bytes<float>({1.5F, 2, 0.1F}), settings).rows() ==
        Rows{{1.5, 2, static_cast<double>(0.1F)}});
}

TEST_CASE("raw rows refuse NaN, infinity and a row cut short") {
  InputSettings settings;
  settings.format = Format::f64;
  settings.raw_width = 2;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const Collected all = collect(raw_bytes<double>({1, nan, 2, 3, -infinity, 4, 5}), settings);
  CHECK(all.rows() == Rows{{2, 3}});
  CHECK(all.faults() == Names{"missing_value", "infinite", "ragged"});
  CHECK(collect("", settings).entries.empty());
}

TEST_CASE("compressed input is recognised by its content and read while it comes") {
  const std::string bytes = many_rows(5000);
  const Collected plain = collect(bytes);
  REQUIRE(plain.rows().size() == 5000);
  for (const std::string& packed : {gzipped(bytes), zstd_compressed(bytes)}) {
    CHECK(packed.size() < bytes.size());
    for (const std::size_t piece : {1UL, 2UL, 3UL, 1000UL, packed.size()}) {
      CHECK(collect(packed, {}, {}, {piece}) == plain);
    }
  }
}

TEST_CASE("concatenated members and frames are one input, cut anywhere") {
  const Collected plain = collect("a,b\n1,2\n3,4\n5,6\n");
  for (const auto& pack : {gzipped, zstd_compressed}) {
    const std::string packed = pack("a,b\n1,") + pack("2\n3,4\n") + pack("") + pack("5,6");
    for (std::size_t piece = 1; piece < packed.size(); ++piece)
      CHECK(collect(packed, {}, {}, {piece}) == plain);
  }
}

TEST_CASE("truncated and damaged compressed input gives the rows before the damage and a named refusal") {
  const std::string bytes = many_rows(50000);
  for (const auto& pack : {gzipped, zstd_compressed}) {
    const std::string packed = pack(bytes);
    const Collected cut = collect(packed.substr(0, packed.size() - 1));
    CHECK(cut.refusal.find("truncated") != std::string::npos);
    CHECK(cut.rows().size() > 40000);
    std::string damaged = packed;
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
    damaged[damaged.size() / 2 + 1] = static_cast<char>(damaged[damaged.size() / 2 + 1] ^ 0x55);
    CHECK(collect(damaged).refusal.find("damaged") != std::string::npos);
    CHECK(collect(packed + "trailing").refusal.find("damaged") != std::string::npos);
  }
  for (std::size_t size = 2; size < 18; ++size) {
    CHECK(collect(gzipped("a\n1\n").substr(0, size)).refusal != "");
  }
}

TEST_CASE("texts that merely begin like a compressed file are text") {
  CHECK(collect("(,b\n1,2\n").rows() == Rows{{1, 2}});
  CHECK(collect("\x1f,b\n1,2\n").rows() == Rows{{1, 2}});
  CHECK(collect("(").columns == Names{"("});
}

TEST_CASE("input that is not rows is refused by what it is") {
  CHECK(collect("[{\"a\":1}]\n").refusal.find("JSON array") != std::string::npos);
  CHECK(collect("PAR1....\n").refusal.find("Parquet") != std::string::npos);
  CHECK(collect("\xFF\xFE"
                "a\n")
            .refusal.find("UTF-16") != std::string::npos);
  CHECK(collect(raw_bytes<double>({1, 2, 3})).refusal.find("binary") != std::string::npos);
  InputSettings settings;
  settings.max_line = 10;
  CHECK(collect("abcdefghijklmno,b\n1,2\n", settings).refusal.find("longer") != std::string::npos);
}
