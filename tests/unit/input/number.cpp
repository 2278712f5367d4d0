#include "input/number.hpp"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>

using namespace mixstream;

namespace {

/// The field as it stands in a reader's buffer: followed by a delimiter and room to look at.
const char* padded(const std::string& text) {
  static std::string buffer;
  buffer = text + ',';
  buffer.append(plain_reach, '7');
  return buffer.data();
}

/// True if both ways agree with strtod bit for bit; the plain way may decline.
bool agrees(const std::string& text) {
  const double expected = std::strtod(text.c_str(), nullptr);
  const auto bits = std::bit_cast<std::uint64_t>(expected);
  const ParsedNumber parsed = parse_number(text);
  const bool general = std::isinf(expected) ? parsed.kind == NumberKind::infinite
                                            : parsed.kind == NumberKind::number &&
                                                  std::bit_cast<std::uint64_t>(parsed.value) == bits;
  double plain = 0.0;
  const char* const begin = padded(text);
  const char* const end = parse_plain(begin, plain);
  const bool fast = end != begin + text.size() || std::bit_cast<std::uint64_t>(plain) == bits;
  if (!general || !fast) MESSAGE("disagrees with strtod: " << text);
  return general && fast;
}

std::string printed(const char* format, double value) {
  std::array<char, 512> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string shortest(double value) {
  std::array<char, 64> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

double random_double(std::mt19937_64& random) {
  for (;;) {
    const auto value = std::bit_cast<double>(random());
    if (std::isfinite(value)) return value;
  }
}

std::string random_digits(std::mt19937_64& random, std::size_t count) {
  std::string digits;
  for (std::size_t i = 0; i < count; ++i) digits += static_cast<char>('0' + random() % 10);
  return digits;
}

/// All decimals of the value halfway between a double and its upper neighbour: the hardest text there is.
std::string halfway(double value) {
  const double above = std::nextafter(value, INFINITY);
  // a long double of 64 bits holds the midpoint of two doubles exactly
  const long double middle = (static_cast<long double>(value) + static_cast<long double>(above)) / 2;
  std::array<char, 1600> text{};
  std::snprintf(text.data(), text.size(), "%.1100Lg", middle);
  return text.data();
}

}  // namespace

TEST_CASE("random doubles printed in every common style read back as strtod reads them") {
  std::mt19937_64 random(1);
  int wrong = 0;
  for (int i = 0; i < 200000 && wrong < 10; ++i) {
    const double value = random_double(random);
    for (const char* format : {"%.17g", "%g", "%e", "%.15g", "%.18e"})
      wrong += agrees(printed(format, value)) ? 0 : 1;
    wrong += agrees(shortest(value)) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("numbers of everyday size in fixed and shortest notation read back as strtod reads them") {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  int wrong = 0;
  for (int i = 0; i < 300000 && wrong < 10; ++i) {
    const double value = normal(random) * std::pow(10.0, static_cast<double>(random() % 9) - 3.0);
    for (const char* format : {"%.6f", "%.9f", "%.1f", "%.0f", "%.16f", "%.17g"}) {
      wrong += agrees(printed(format, value)) ? 0 : 1;
    }
    wrong += agrees(shortest(value)) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("random digit strings of any length, point and exponent read as strtod reads them") {
  std::mt19937_64 random(3);
  int wrong = 0;
  for (int i = 0; i < 1000000 && wrong < 10; ++i) {
    std::string text = random_digits(random, random() % 24);
    if (random() % 2) text.append(1, '.').append(random_digits(random, random() % 24));
    if (text.empty() || text == ".") text.assign(1, '0');
    if (random() % 3 == 0) text = std::string(random() % 30, '0') + text;
    if (random() % 2) text.append("e").append(std::to_string(static_cast<int>(random() % 700) - 350));
    if (random() % 2) text = std::string(1, '-').append(text);
    wrong += agrees(text) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("texts halfway between two doubles, and their neighbours, round as strtod rounds them") {
  std::mt19937_64 random(4);
  int wrong = 0;
  for (int i = 0; i < 20000 && wrong < 10; ++i) {
    double value = std::abs(random_double(random));
    if (i % 2)
      value = std::ldexp(1.0 + static_cast<double>(random() % 1000000) / 1e6,
                         static_cast<int>(random() % 120) - 60);
    if (i % 16 == 0) value = std::bit_cast<double>(random() >> 12);  // subnormal
    const std::string middle = halfway(value);
    wrong += agrees(middle) ? 0 : 1;
    const std::size_t exponent = middle.find('e');
    const std::string mantissa = middle.substr(0, exponent);
    const std::string tail = exponent == std::string::npos ? "" : middle.substr(exponent);
    const std::string point = mantissa.find('.') == std::string::npos ? "." : "";
    wrong += agrees(mantissa + point + "0000000001" + tail) ? 0 : 1;
    std::string below = mantissa;
    if (below.back() > '0') below.back() = static_cast<char>(below.back() - 1);
    wrong += agrees(below + point + "99999999999" + tail) ? 0 : 1;
    for (std::size_t digits = 17; digits <= 20; ++digits) {
      wrong += agrees(mantissa.substr(0, digits) + tail) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("integers around the powers of two read as strtod reads them") {
  int wrong = 0;
  for (int power = 50; power < 64; ++power) {
    const std::uint64_t centre = std::uint64_t{1} << power;
    for (std::uint64_t i = 0; i < 4096; ++i) wrong += agrees(std::to_string(centre - 2048 + i)) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("the edges of the double range read as strtod reads them") {
  for (const char* text : {"0",
                           "-0",
                           "0.0",
                           "-0.000000",
                           "0e999999999999",
                           "1e0",
                           "1.",
                           ".5",
                           "-.5",
                           "5e-1",
                           "1e22",
                           "1e23",
                           "1e-22",
                           "1e-23",
                           "1e308",
                           "1e309",
                           "-1e309",
                           "1.7976931348623157e308",
                           "1.7976931348623158e308",
                           "1.7976931348623159e308",
                           "2.2250738585072014e-308",
                           "2.2250738585072011e-308",
                           "2.2250738585072012e-308",
                           "4.9e-324",
                           "4.9406564584124654e-324",
                           "2.4703282292062327e-324",
                           "2.4703282292062328e-324",
                           "2e-324",
                           "3e-324",
                           "1e-400",
                           "1e-999999999999999999999",
                           "1e999999999999999999999",
                           "9007199254740993",
                           "9007199254740992.5",
                           "9007199254740993.0000000000000001",
                           "0.30000000000000004",
                           "18446744073709551615",
                           "18446744073709551616",
                           "9999999999999999999",
                           "99999999999999999999",
                           "6.02214076e23",
                           "1E5",
                           "1e+5",
                           "123456789012345678901234567890e-20",
                           "0.000000000000000000000000000000000000000000012345e40",
                           "12345678.12345678",
                           "99999999.99999999",
                           "0.123456789012345678",
                           "0.0000000000000000001"}) {
    CHECK(agrees(text));
  }
  CHECK(agrees(std::string("1").append(5000, '0').append("e-5000")));
  CHECK(agrees(std::string("0.").append(5000, '0').append("1e5000")));
  CHECK(agrees(std::string(5000, '9')));
}

TEST_CASE("blanks and a plus around a number are allowed, anything else is not") {
  for (const char* text : {" 1.5", "1.5 ", "\t1.5 \t", "+1.5", "  +1.5e0"}) {
    const ParsedNumber parsed = parse_number(text);
    CHECK(parsed.kind == NumberKind::number);
    CHECK(parsed.value == 1.5);
  }
  for (const char* text :
       {"1,5",   "1.5x",  "x1.5", "1 5",   "+-1",   "--1", "+",   "-",   ".",    "e5",      "1e",    "1e+",
        "1.5.5", "0x1p3", "0x10", "1_000", "1e5.5", "1d5", "\n1", "1\r", "nano", "infinit", "nan(1)"}) {
    CAPTURE(text);
    CHECK(parse_number(text).kind == NumberKind::text);
  }
  CHECK(parse_number(std::string_view("1\0", 2)).kind == NumberKind::text);
}

TEST_CASE("missing and infinite values are told apart from other texts") {
  for (const char* text :
       {"", "  ", "NA", "na", "N/A", "NaN", "nan", "-nan", "+NaN", "null", "NULL", "None", " NA "}) {
    CAPTURE(text);
    CHECK(parse_number(text).kind == NumberKind::missing);
  }
  for (const char* text : {"inf", "-inf", "+Inf", "INFINITY", "-Infinity", "1e999"}) {
    CAPTURE(text);
    CHECK(parse_number(text).kind == NumberKind::infinite);
  }
}

TEST_CASE("the plain way stops at the first byte behind the digits and declines what is not plain") {
  double value = 0.0;
  const std::string wide = std::string("-12.5;").append(plain_reach, ' ');
  CHECK(parse_plain(wide.data(), value) == wide.data() + 5);
  CHECK(value == -12.5);
  for (const char* text :
       {"", "-", "+1", " 1", ".5", "5.", "abc", "\"1\"", "123456789", "1.2345678901234567890"}) {
    const char* const begin = padded(text);
    CAPTURE(text);
    CHECK(parse_plain(begin, value) == nullptr);
  }
}

TEST_CASE("reading a number touches nothing behind its text") {
  for (const std::string text :
       {"1", "-1.5", "12345678", "123456789012", "0.12345678", "1e", "1e1", ".", "-"}) {
    const std::unique_ptr<char[]> exact(
        new char[text.size()]);  // a read behind it shows under AddressSanitizer
    std::memcpy(exact.get(), text.data(), text.size());
    const ParsedNumber parsed = parse_number({exact.get(), text.size()});
    CHECK(parsed.kind == parse_number(text).kind);
  }
}
