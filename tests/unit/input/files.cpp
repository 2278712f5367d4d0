#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include "collect.hpp"
#include "support/allocation_count.hpp"

using namespace mixstream;

namespace {

int times_asked = 0;

/// A file that lives as long as this does.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes)
      : path_(std::filesystem::temp_directory_path() / ("mixstream-input-" + std::to_string(::getpid()))) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

struct Pipe {
  Pipe() { REQUIRE(::pipe(ends.data()) == 0); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    ::close(ends[0]);
    close_writer();
  }
  void write(const std::string& bytes) const {
    REQUIRE(::write(ends[1], bytes.data(), bytes.size()) == static_cast<::ssize_t>(bytes.size()));
  }
  void close_writer() {
    if (ends[1] >= 0) ::close(ends[1]);
    ends[1] = -1;
  }
  std::string path() const { return "/dev/fd/" + std::to_string(ends[0]); }
  std::array<int, 2> ends{};
};

/// The rows of all ranges together, by offset; each must stand in one range only.
std::map<std::uint64_t, std::string> in_parts(const std::string& path, std::size_t parts,
                                              const InputSettings& settings, bool& failed) {
  std::map<std::uint64_t, std::string> found;
  const auto ranges = split_input(path, parts);
  REQUIRE(ranges);
  for (const ByteRange& range : ranges.value()) {
    InputSettings part = settings;
    part.range = range;
    const Collected all = collect(open_input(path, part));
    failed = failed || !all.refusal.empty();
    for (const Collected::Entry& entry : all.entries) {
      std::string what = entry.fault;
      for (const double value : entry.values) what += std::to_string(value) + " ";
      CHECK(found.emplace(entry.place.offset, what).second);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("the parts of a file together hold each row once, for any number of parts") {
  std::mt19937 random(31);
  for (int trial = 0; trial < 30; ++trial) {
    std::string bytes = trial % 3 == 0 ? "\xEF\xBB\xBF# c\na,b\r\n" : "a,b\n";
    const std::size_t lines = random() % 60;
    for (std::size_t i = 0; i < lines; ++i) {
      const std::array<const char*, 8> kinds{"\n",        "# note\n",  "1,x\n",          "7\n",
                                             "\"5\",6\n", "1.5,2\r\n", "-3,123456789\n", "0,0\n"};
      bytes += kinds[random() % kinds.size()];
    }
    if (trial % 2) bytes += "9,10";
    const TemporaryFile file(bytes);
    bool failed = false;
    const auto whole = in_parts(file.path(), 1, {}, failed);
    for (std::size_t parts = 2; parts < 40; parts += 1 + parts / 5) {
      CAPTURE(bytes);
      CAPTURE(parts);
      CHECK(in_parts(file.path(), parts, {}, failed) == whole);
    }
    CHECK(!failed);
  }
}

TEST_CASE("long lines are dropped by one part only") {
  std::string bytes = "a,b\n";
  for (int i = 0; i < 20; ++i) bytes += i % 4 == 0 ? std::string(200, '1') + ",2\n" : "1,2\n";
  const TemporaryFile file(bytes);
  InputSettings settings;
  settings.max_line = 50;
  bool failed = false;
  const auto whole = in_parts(file.path(), 1, settings, failed);
  for (std::size_t parts = 2; parts < 60; ++parts)
    CHECK(in_parts(file.path(), parts, settings, failed) == whole);
  CHECK(whole.size() == 20);
}

TEST_CASE("raw rows and NDJSON split too") {
  std::string raw(24 * 50, '\1');
  const TemporaryFile raw_file(raw);
  InputSettings settings;
  settings.format = Format::f64;
  settings.raw_width = 3;
  bool failed = false;
  const auto whole = in_parts(raw_file.path(), 1, settings, failed);
  CHECK(whole.size() == 50);
  for (std::size_t parts = 2; parts < 70; parts += 3)
    CHECK(in_parts(raw_file.path(), parts, settings, failed) == whole);
  std::string lines;
  for (int i = 0; i < 30; ++i) lines += "{\"a\":" + std::to_string(i) + "}\n";
  const TemporaryFile file(lines);
  const auto objects = in_parts(file.path(), 1, {}, failed);
  CHECK(objects.size() == 30);
  for (std::size_t parts = 2; parts < 40; ++parts) CHECK(in_parts(file.path(), parts, {}, failed) == objects);
  CHECK(!failed);
}

TEST_CASE("quoted newlines do not trouble a file that is read in parts") {
  std::string bytes = "n,v\r\n";
  for (int i = 0; i < 12; ++i) bytes += i % 3 == 0 ? "\"a\r\n1,2\n\"\"\n\",1\r\n" : "x,2\n\n# \"\n";
  const TemporaryFile file(bytes + "\"y\n\",3");
  bool failed = false;
  const InputSettings settings{.comment = '#'};
  const auto whole = in_parts(file.path(), 1, settings, failed);
  CHECK(whole.size() == 13);
  for (std::size_t parts = 2; parts < bytes.size() + 20; ++parts) {
    CAPTURE(parts);
    CHECK(in_parts(file.path(), parts, settings, failed) == whole);
  }
  CHECK(!failed);
}

TEST_CASE("random text gives the same rows in any parts") {
  std::mt19937 random(17);
  const std::string alphabet = "01,,\n\n\"\"\"\r#";
  for (int trial = 0; trial < 300; ++trial) {
    std::string bytes = "a,b\n";
    const std::size_t length = random() % 200;
    for (std::size_t i = 0; i < length; ++i) bytes += alphabet[random() % alphabet.size()];
    const TemporaryFile file(bytes);
    InputSettings settings;
    settings.max_line = 1 + random() % 20;
    bool failed = false;
    const auto whole = in_parts(file.path(), 1, settings, failed);
    for (const std::size_t parts : {2, 3, 7, 50, 300}) {
      CAPTURE(bytes);
      CAPTURE(parts);
      CAPTURE(settings.max_line);
      CHECK(in_parts(file.path(), parts, settings, failed) == whole);
    }
  }
}

TEST_CASE("a row of a part tells its byte, from which the line follows") {
  const TemporaryFile file("a,b\n1,2\n3,4\n5,x\n");
  InputSettings settings;
  settings.range = {5, 100};
  const Collected all = collect(open_input(file.path(), settings));
  REQUIRE(all.entries.size() == 2);
  CHECK(all.entries[0].place.line == 0);
  CHECK(all.entries[1].words == "byte 12: column \"b\": \"x\" is not a number");
  CHECK(line_number_at(file.path(), 12).value() == 4);
  CHECK(line_number_at(file.path(), 0).value() == 1);
}

TEST_CASE("what cannot be split is one part, and refuses a range") {
  const TemporaryFile packed(std::string("\x1f\x8b\x08 whatever"));
  CHECK(split_input(packed.path(), 4).value() == std::vector<ByteRange>{ByteRange{}});
  InputSettings settings;
  settings.range = {0, 5};
  CHECK(collect(open_input(packed.path(), settings)).refusal.find("in parts") != std::string::npos);
  const Pipe pipe;
  CHECK(split_input(pipe.path(), 4).value() == std::vector<ByteRange>{ByteRange{}});
}

TEST_CASE("a file that is not there and a folder are refused in words") {
  CHECK(collect(open_input("/no/such/file.csv")).refusal ==
        "cannot open /no/such/file.csv: No such file or directory");
  CHECK(collect(open_input("/")).refusal.find("Is a directory") != std::string::npos);
  CHECK(!split_input("/no/such/file.csv", 2));
}

TEST_CASE("rows come out of a pipe as soon as they are in it") {
  Pipe pipe;
  pipe.write("a,b\n0,9\n");
  auto input = open_input(pipe.path());  // would wait for ever if it wanted more than the header and a row
  REQUIRE(input);
  auto reader = std::move(input.value()).select({.numbers = {"b"}});
  REQUIRE(reader);
  CHECK(reader.value()->next().value().values(0)[0] == 9);
  for (int i = 0; i < 5; ++i) {
    pipe.write("1," + std::to_string(i) + "\n2,");
    const auto batch = reader.value()->next();
    REQUIRE(batch);
    REQUIRE(batch.value().rows == 1);
    CHECK(batch.value().values(0)[0] == i);
    pipe.write("7\n");
    CHECK(reader.value()->next().value().values(0)[0] == 7);
  }
  pipe.write("8,9");
  pipe.close_writer();
  CHECK(reader.value()->next().value().values(0)[0] == 9);
  CHECK(reader.value()->next().value().end);
  CHECK(reader.value()->next().value().end);
}

TEST_CASE("the wake descriptor ends a wait without rows and without loss") {
  Pipe pipe;
  const Pipe wake;
  pipe.write("a\n1\n2");
  InputSettings settings;
  settings.wake_descriptor = wake.ends[0];
  auto input = open_input(pipe.path(), settings);
  REQUIRE(input);
  auto reader = std::move(input.value()).select({.numbers = {"a"}});
  CHECK(reader.value()->next().value().values(0)[0] == 1);
  wake.write("!");
  const auto woken = reader.value()->next();
  CHECK(woken.value().rows == 0);
  CHECK(!woken.value().end);
  pipe.write("3\n");
  CHECK(reader.value()->next().value().values(0)[0] == 23);
}

TEST_CASE("waiting for the first row can be given up") {
  const Pipe pipe;
  const Pipe wake;
  pipe.write("a,b");
  wake.write("!");
  InputSettings settings;
  settings.wake_descriptor = wake.ends[0];
  settings.on_wake = [] { return ++times_asked < 3; };
  const auto input = open_input(pipe.path(), settings);
  REQUIRE(!input);
  CHECK(input.refusal().text.find("interrupted") != std::string::npos);
  CHECK(times_asked == 3);
}

TEST_CASE("a pipe that somebody made non-blocking is waited for") {
  Pipe pipe;
  REQUIRE(::fcntl(pipe.ends[0], F_SETFL, O_NONBLOCK) == 0);
  pipe.write("a\n1\n");
  pipe.close_writer();
  const auto source = open_bytes(pipe.path());
  CHECK(collect(open_input(pipe.path())).rows().size() == 1);
}

TEST_CASE("after the first batches rows of every kind cost no allocation") {
  std::string csv = "a,b,s\n";
  std::string json;
  for (int i = 0; i < 20000; ++i) {
    csv += i % 5 == 0 ? "x,1,\"q\"\"q\"\n" : i % 5 == 1 ? "1,2,\"a,\"\"b\"\n" : "1.5,-2.25e-3,plain\n";
    json += i % 5 == 0 ? "{\"a\":1,\"b\":\"x\",\"s\":1}\n" : "{\"a\":1.5,\"b\":2,\"s\":\"t\"}\n";
  }
  for (const std::string& bytes : {csv, json}) {
    auto input = open_input(memory_bytes(bytes));
    auto reader = std::move(input.value()).select({.numbers = {"a", "b"}, .text = "s", .keep_lines = true});
    for (int i = 0; i < 3; ++i) REQUIRE(reader.value()->next());
    const std::size_t before = allocation_count();
    std::size_t rows = 0;
    for (;;) {
      const auto batch = reader.value()->next();
      if (batch.value().end) break;
      rows += batch.value().rows;
    }
    const std::size_t after = allocation_count();
    CHECK(rows > 10000);
    CHECK(after == before);
  }
}
