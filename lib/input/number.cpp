#include "input/number.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "input/text.hpp"

namespace mixstream {
namespace {

bool is_digit(char c) noexcept {
  return static_cast<unsigned char>(c - '0') <= 9;
}

bool same_word(std::string_view text, std::string_view lower) noexcept {
  return std::ranges::equal(text, lower, [](char c, char wanted) {
    return (c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c) == wanted;
  });
}

ParsedNumber word(std::string_view text, std::string_view unsigned_text) noexcept {
  for (const std::string_view name : {"", "na", "n/a", "#n/a", "#na", "<na>", "null", "none"}) {
    if (same_word(text, name)) return {NumberKind::missing, 0.0};
  }
  if (same_word(unsigned_text, "nan")) return {NumberKind::missing, 0.0};
  for (const std::string_view name : {"inf", "infinity"}) {
    if (same_word(unsigned_text, name)) return {NumberKind::infinite, 0.0};
  }
  return {};
}

/// A decimal as scanned: value = digits * 10^exponent, if `complete`.
struct Decimal {
  std::uint64_t digits = 0;   // the first 19 significant digits
  int significant = 0;        // how many were taken
  std::int64_t exponent = 0;  // of ten, for the last digit taken
  bool complete = true;       // no non-zero digit was left out
  bool any = false;           // at least one digit was there
};

void take(Decimal& decimal, char digit, bool behind_point) noexcept {
  decimal.any = true;
  if (decimal.significant == 19) {
    decimal.complete = decimal.complete && digit == '0';
    decimal.exponent += behind_point ? 0 : 1;
    return;
  }
  decimal.digits = decimal.digits * 10 + static_cast<std::uint64_t>(digit - '0');
  decimal.significant += decimal.digits != 0 ? 1 : 0;
  decimal.exponent -= behind_point ? 1 : 0;
}

const char* take_digits(Decimal& decimal, const char* at, const char* end, bool behind_point) noexcept {
  while (end - at >= 8 && decimal.significant <= 11) {
    const std::uint64_t bytes = digits::load_eight(at);
    if ((((bytes & 0x7F7F7F7F7F7F7F7F) + 0x7676767676767676) | bytes) & 0x8080808080808080) break;
    const bool leading = decimal.digits == 0;
    decimal.digits = decimal.digits * digits::integer_tens[8] + digits::value_of_eight(bytes);
    decimal.exponent -= behind_point ? 8 : 0;
    decimal.any = true;
    if (!leading) {
      decimal.significant += 8;
    } else {
      while (decimal.significant < 8 &&
             digits::integer_tens[static_cast<std::size_t>(decimal.significant)] <= decimal.digits)
        ++decimal.significant;
    }
    at += 8;
  }
  for (; at != end && is_digit(*at); ++at) take(decimal, *at, behind_point);
  return at;
}

/// The exponent behind an 'e', cut off where no double can tell the difference; null if there is none.
const char* take_exponent(Decimal& decimal, const char* at, const char* end) noexcept {
  const bool negative = at != end && *at == '-';
  if (at != end && (*at == '-' || *at == '+')) ++at;
  if (at == end || !is_digit(*at)) return nullptr;
  std::int64_t exponent = 0;
  for (; at != end && is_digit(*at); ++at)
    exponent = std::min<std::int64_t>(exponent * 10 + (*at - '0'), 1'000'000'000);
  decimal.exponent += negative ? -exponent : exponent;
  return at;
}

/// The magnitude, by the cheapest exact way.
ParsedNumber convert(const Decimal& decimal, std::string_view text) noexcept {
  using namespace digits;
  if (decimal.digits == 0) return {NumberKind::number, 0.0};
  if (decimal.complete) {
    const std::int64_t exponent = decimal.exponent;
    if (decimal.digits <= exact_integers && exponent >= -22 && exponent <= 22) {
      const auto exact = static_cast<double>(decimal.digits);
      const double power = exact_tens[static_cast<std::size_t>(exponent < 0 ? -exponent : exponent)];
      return {NumberKind::number, exponent < 0 ? exact / power : exact * power};
    }
    double value = 0.0;
    if (exponent >= least_power && exponent <= greatest_power &&
        nearest_double(decimal.digits, static_cast<int>(exponent), value)) {
      return {NumberKind::number, value};
    }
  }
  double value = 0.0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec == std::errc{}) {
    return value <= std::numeric_limits<double>::max() ? ParsedNumber{NumberKind::number, value}
                                                       : ParsedNumber{NumberKind::infinite, 0.0};
  }
  if (decimal.exponent + decimal.significant > 0) return {NumberKind::infinite, 0.0};
  return {NumberKind::number, 0.0};
}

}  // namespace

const char* digits::parse_long(const char* at, bool negative, double& value) noexcept {
  const std::uint32_t marks = non_digits(at) | non_digits(at + 16) << 16;
  const auto whole = static_cast<unsigned>(std::countr_zero(marks));
  const auto length = static_cast<unsigned>(std::countr_zero(marks & (marks - 1)));
  if (whole - 1 > 7 || length == 32 || at[whole] != '.') return nullptr;
  const unsigned fraction = length - whole - 1;
  if (fraction < 8 || whole + fraction > 19) return nullptr;
  const char* const point = at + whole;
  const char* const end = at + length;
  std::uint64_t all = value_of(at, whole) * integer_tens[fraction] + value_of_eight(load_eight(end - 8));
  if (fraction > 16) {
    all += value_of_eight(load_eight(end - 16)) * integer_tens[8] +
           value_of(point + 1, fraction - 16) * integer_tens[16];
  } else if (fraction > 8) {
    all += value_of(point + 1, fraction - 8) * integer_tens[8];
  }
  double magnitude;
  if (!nearest_double(all, -static_cast<int>(fraction), magnitude)) return nullptr;
  value = with_sign(magnitude, negative);
  return end;
}

ParsedNumber parse_number(std::string_view text) noexcept {
  text = without_blanks(text);
  std::string_view magnitude = text;
  const bool negative = !text.empty() && text.front() == '-';
  if (negative || (!text.empty() && text.front() == '+')) magnitude.remove_prefix(1);

  Decimal decimal;
  const char* at = magnitude.data();
  const char* const end = at + magnitude.size();
  at = take_digits(decimal, at, end, false);
  if (at != end && *at == '.') at = take_digits(decimal, at + 1, end, true);
  if (!decimal.any) return word(text, magnitude);
  if (at != end && (*at == 'e' || *at == 'E')) at = take_exponent(decimal, at + 1, end);
  if (at == nullptr) return {};
  const std::string_view number(magnitude.data(), at);
  if (at != end && without_blanks({at, end}) != "%") return {};

  ParsedNumber parsed = convert(decimal, number);
  if (negative && parsed.kind == NumberKind::number) parsed.value = -parsed.value;
  return parsed;
}

}  // namespace mixstream
