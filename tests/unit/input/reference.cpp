// CSV against a slow reader written from RFC 4180 alone, on texts made at random.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include "collect.hpp"

using namespace mixstream;

namespace {

using Fields = std::vector<std::string>;

/// One character at a time, whole text in memory; the text is well formed.
std::vector<Fields> read_slowly(const std::string& text, char delimiter) {
  std::vector<Fields> rows;
  Fields row;
  std::string field;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
        field += '"';
        ++i;
      } else if (c == '"') {
        quoted = false;
      } else {
        field += c;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == delimiter || c == '\n') {
      row.push_back(std::exchange(field, ""));
      if (c == '\n') rows.push_back(std::exchange(row, {}));
    } else if (c != '\r') {
      field += c;
    }
  }
  return rows;
}

std::string random_text(std::mt19937& random, char delimiter) {
  const std::string letters = std::string("ab \"\n,;é") + delimiter;
  std::string text;
  for (std::size_t i = random() % 8; i > 0; --i) text += letters[random() % letters.size()];
  return text;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) result.append(c == '"' ? 2 : 1, c);
  return result += '"';
}

std::string random_number(std::mt19937& random) {
  const double value =
      std::ldexp(static_cast<double>(random()) - 2147483648.0, static_cast<int>(random() % 60) - 50);
  char text[40];
  const char* const styles[] = {"%.6f", "%.17g", "%g", "%+.3e", "%.0f"};
  std::snprintf(text, sizeof text, styles[random() % 5], value);
  return random() % 8 == 0 ? quoted(text) : text;
}

}  // namespace

TEST_CASE("well-formed CSV with quotes and newlines in fields reads as a slow reader reads it") {
  std::mt19937 random(21);
  for (int trial = 0; trial < 300; ++trial) {
    const char delimiter = ",;\t|:"[random() % 5];
    const std::string line_end = random() % 2 ? "\r\n" : "\n";
    std::string bytes = std::string("x") + delimiter + "name" + delimiter + "y" + line_end;
    for (std::size_t i = random() % 40; i > 0; --i) {
      bytes.append(random_number(random)).append(1, delimiter).append(quoted(random_text(random, delimiter)));
      bytes.append(1, delimiter).append(random_number(random)).append(line_end);
    }
    const Collected all = collect(bytes, {.delimiter = delimiter}, {.numbers = {"y", "x"}, .text = "name"},
                                  {1 + random() % 100});
    const std::vector<Fields> expected = read_slowly(bytes, delimiter);
    REQUIRE(all.entries.size() == expected.size() - 1);
    for (std::size_t i = 0; i < all.entries.size(); ++i) {
      const Fields& fields = expected[i + 1];
      REQUIRE(all.entries[i].accepted);
      CHECK(all.entries[i].values[0] == std::strtod(fields[2].c_str(), nullptr));
      CHECK(all.entries[i].values[1] == std::strtod(fields[0].c_str(), nullptr));
      CHECK(all.entries[i].text == fields[1]);
    }
  }
}
