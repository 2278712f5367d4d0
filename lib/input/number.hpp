// Decimal text to double, bit for bit what strtod gives in the C locale, whatever the locale is.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "input/decimal.hpp"

namespace mixstream {

enum class NumberKind : std::uint8_t {
  number,
  missing,   ///< empty, NA, N/A, #N/A, #NA, <NA>, NaN, null, none, in any case
  infinite,  ///< inf, infinity, or a decimal beyond the largest double
  text       ///< anything else
};

struct ParsedNumber {
  NumberKind kind = NumberKind::text;
  double value = 0.0;  ///< finite; 0 unless kind is number
};

/// Reads the whole text as one decimal: blanks, sign, digits with a point, exponent, blanks, perhaps a
/// percent sign, which changes nothing (45% is 45). Hexadecimal is text; "1,5" is text. Reads only the text
/// itself. No throw, no allocation.
ParsedNumber parse_number(std::string_view text) noexcept;

/// How many bytes behind the start of a field parse_plain may look at.
inline constexpr std::size_t plain_reach = 48;

namespace digits {

static_assert(std::endian::native == std::endian::little, "the first digit of eight is the lowest byte");

inline std::uint64_t load_eight(const char* at) noexcept {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word ^ 0x3030303030303030;  // '0'..'9' become 0..9
}

/// Bit i is set where at[i] is not a digit, i < 16.
inline std::uint32_t non_digits(const char* at) noexcept {
#if defined(__SSE2__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  const __m128i moved = _mm_add_epi8(bytes, _mm_set1_epi8(0x80 - 0x30));  // '0'..'9' become -128..-119
  return 0xFFFF ^ static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmplt_epi8(moved, _mm_set1_epi8(-118))));
#else
  std::uint32_t marks = 0;
  for (int i = 0; i < 16; ++i) {
    if (static_cast<unsigned char>(at[i] - '0') > 9) marks |= std::uint32_t{1} << i;
  }
  return marks;
#endif
}

/// The value of eight digit bytes, first digit lowest: pairs, then fours, then eight, by multiplication.
inline std::uint64_t value_of_eight(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t every_fourth = 0x000000FF000000FF;
  constexpr std::uint64_t first_pairs = 100 + (std::uint64_t{1000000} << 32);
  constexpr std::uint64_t second_pairs = 1 + (std::uint64_t{10000} << 32);
  bytes = bytes * 10 + (bytes >> 8);
  return ((bytes & every_fourth) * first_pairs + ((bytes >> 16) & every_fourth) * second_pairs) >> 32;
}

/// The value of the first `count` digits at `at`, 1 <= count <= 8; reads eight bytes.
inline std::uint64_t value_of(const char* at, unsigned count) noexcept {
  return value_of_eight(load_eight(at) << (64 - 8 * count));
}

inline constexpr std::array<std::uint64_t, 20> integer_tens = [] {
  std::array<std::uint64_t, 20> table{1};
  for (std::size_t i = 1; i < table.size(); ++i) table[i] = table[i - 1] * 10;
  return table;
}();

inline constexpr std::array<double, 23> exact_tens{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
inline constexpr std::uint64_t exact_integers = std::uint64_t{1} << 53;

inline double with_sign(double magnitude, bool negative) noexcept {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) | std::uint64_t{negative} << 63);
}

/// parse_plain behind the sign, for up to 31 bytes and 19 digits.
const char* parse_long(const char* at, bool negative, double& value) noexcept;

}  // namespace digits

/// The common case, fast: an optional minus, 1 to 8 digits, and perhaps a point with 1 to 18 more, 19 digits
/// in all. Returns the first byte behind them, which the caller must find to be a delimiter; null where the
/// field is not that plain. The caller guarantees plain_reach readable bytes. No throw, no allocation.
inline const char* parse_plain(const char* at, double& value) noexcept {
  using namespace digits;
  const bool negative = *at == '-';
  at += negative;
  const std::uint32_t marks = non_digits(at);
  const std::uint32_t behind_first = marks & (marks - 1);
  if (behind_first == 0) return parse_long(at, negative, value);
  const auto whole = static_cast<unsigned>(std::countr_zero(marks));
  if (whole - 1 > 7) return nullptr;
  const std::uint64_t integer = value_of(at, whole);
  if (at[whole] != '.') {
    value = with_sign(static_cast<double>(integer), negative);
    return at + whole;
  }
  const auto length = static_cast<unsigned>(std::countr_zero(behind_first));
  const unsigned fraction = length - whole - 1;
  if (fraction - 1 > 7) return fraction == 0 ? nullptr : parse_long(at, negative, value);
  const std::uint64_t all = integer * integer_tens[fraction] + value_of(at + whole + 1, fraction);
  value = with_sign(static_cast<double>(all) / exact_tens[fraction],
                    negative);  // 14 digits at most: one rounding
  return at + length;
}

}  // namespace mixstream
