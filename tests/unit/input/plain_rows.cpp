// Many rows at once against one row at a time, and against strtod. A selection that keeps lines is read one
// row at a time.
#include <doctest/doctest.h>

#include <bit>
#include <cstdlib>
#include <random>
#include <string>

#include "collect.hpp"

using namespace mixstream;

namespace {

/// Digits with a point anywhere or nowhere, perhaps a minus: 1 to 19 digits.
std::string random_decimal(std::mt19937& random) {
  std::string text;
  const std::size_t digits = 1 + random() % 19;
  for (std::size_t i = 0; i < digits; ++i) text += static_cast<char>('0' + random() % 10);
  if (random() % 4 != 0) text.insert(random() % (digits + 1), ".");
  return random() % 2 == 0 ? "-" + text : text;
}

/// Mostly numbers; sometimes what a plain row must not hold.
std::string random_field(std::mt19937& random) {
  static const std::vector<std::string> odd{"",      "NA",  ".",    "-",     "-.",   "+1",   "1e5",  "--1",
                                            "1.2.3", "1-2", " 7 ",  "\"8\"", "\"",   "abc",  "inf",  "1 ",
                                            "0x1",   "\r",  "1\r2", "1e999", "1e-5", "12,3", "1\n2", "#1"};
  return random() % 60 == 0 ? odd[random() % odd.size()] : random_decimal(random);
}

std::string random_rows(std::mt19937& random, std::size_t columns) {
  const std::string line_end = random() % 2 == 0 ? "\r\n" : "\n";
  std::string bytes;
  for (std::size_t i = 0; i < columns; ++i) bytes += "c" + std::to_string(i) + (i + 1 < columns ? "," : "");
  bytes += line_end;
  for (std::size_t row = random() % 3000; row > 0; --row) {
    if (random() % 200 == 0) bytes += "# 1,2,3" + line_end;
    if (random() % 200 == 0) bytes += line_end;
    for (std::size_t i = 0; i < columns; ++i) bytes += random_field(random) + (i + 1 < columns ? "," : "");
    bytes += line_end;
  }
  if (random() % 2 == 0) bytes.resize(bytes.size() - line_end.size());
  if (random() % 4 == 0) bytes[random() % bytes.size()] = '\0';
  return bytes;
}

void forget_lines(Collected& all) {
  for (Collected::Entry& entry : all.entries) entry.line.clear();
}

}  // namespace

TEST_CASE("rows read many at once are those read one at a time") {
  std::mt19937 random(5);
  for (int trial = 0; trial < 150; ++trial) {
    const std::size_t columns = 1 + random() % 6;
    const std::string bytes = random_rows(random, columns);
    Selection selection;
    for (std::size_t i = 0; i < columns; ++i) {  // in any order, some left out
      const std::string name = "c" + std::to_string(i);
      if (i == 0 || random() % 3 != 0)
        selection.numbers.insert(random() % 2 == 0 ? selection.numbers.begin() : selection.numbers.end(),
                                 name);
    }
    InputSettings settings{.delimiter = ','};
    if (random() % 4 == 0) settings.max_line = 20 + random() % 60;
    if (random() % 4 == 0) settings.batch_rows = 1 + random() % 50;
    const std::vector<std::size_t> pieces{1 + random() % 5000};
    const Collected many = collect(bytes, settings, selection, pieces);
    selection.keep_lines = true;
    Collected one = collect(bytes, settings, selection, pieces);
    forget_lines(one);
    REQUIRE(many.entries.size() == one.entries.size());
    for (std::size_t i = 0; i < many.entries.size(); ++i) REQUIRE(many.entries[i] == one.entries[i]);
    CHECK(many == one);
  }
}

TEST_CASE("numbers of rows read many at once equal strtod's") {
  std::mt19937 random(6);
  for (int trial = 0; trial < 100; ++trial) {
    std::string bytes = "a,b,c,d,e\n";
    std::vector<double> expected;
    for (int i = 0; i < 10000; ++i) {
      const std::string text = random_decimal(random);
      expected.push_back(std::strtod(text.c_str(), nullptr));
      bytes.append(text).append(1, i % 5 == 4 ? '\n' : ',');
    }
    const std::vector<std::vector<double>> rows = collect(bytes).rows();
    REQUIRE(rows.size() == 2000);
    bool same = true;
    for (std::size_t i = 0; i < expected.size(); ++i)
      same = same &&
             std::bit_cast<std::uint64_t>(rows[i / 5][i % 5]) == std::bit_cast<std::uint64_t>(expected[i]);
    REQUIRE(same);
  }
}
