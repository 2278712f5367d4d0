// Compiled for AVX2; includes nothing with inline code of external linkage: such code could replace the
// baseline's own.
#include "input/variants/plain_rows.hpp"

#include <immintrin.h>

#define MIXSTREAM_INLINE __attribute__((always_inline)) static inline

namespace mixstream::variants {
namespace {

constexpr std::size_t most_others = 64;   // rows read one at a time before short ones are tried again
constexpr std::size_t stretch = 1 << 14;  // bytes of one of the two: they and their rows stay in the cache

/// By the place of the point in sixteen bytes and that of the first byte behind the number: which bytes come
/// where, so that the digits stand together at the end. The rest are constants, kept in memory: GCC would
/// make them anew for every number.
struct Tables {
  alignas(64) unsigned char digits[16][16][16] = {};
  alignas(16) unsigned char to_low[16] = {};       ///< '0'..'9' become -128..-119
  alignas(16) unsigned char largest_low[16] = {};  ///< -119
  alignas(16) unsigned char zeros[16] = {};        ///< '0'
  alignas(16) signed char tens[16] = {};
  alignas(16) short hundreds[8] = {};
  alignas(16) short ten_thousands[8] = {};
  alignas(16) double halves[2] = {1e8, 1.0};
  double powers[16] = {};

  constexpr Tables() {
    for (unsigned point = 0; point < 16; ++point) {
      for (unsigned length = 0; length < 16; ++length) {
        const bool has_point = point < length;
        const unsigned count = length - (has_point ? 1 : 0);
        for (unsigned i = 0; i < 16; ++i) digits[point][length][i] = 0x80;  // a zero
        for (unsigned i = 0; i < count; ++i) {
          const unsigned from = i + (has_point && i >= point ? 1 : 0);
          digits[point][length][16 - count + i] = static_cast<unsigned char>(from);
        }
      }
      powers[point] = 1.0;
      for (unsigned i = 0; i < point; ++i) powers[point] *= 10.0;
      to_low[point] = 0x80 - 0x30;
      largest_low[point] = 0x89;
      zeros[point] = '0';
      tens[point] = point % 2 == 0 ? 10 : 1;
    }
    for (unsigned i = 0; i < 8; ++i) {
      hundreds[i] = i % 2 == 0 ? 100 : 1;
      ten_thousands[i] = i % 2 == 0 ? 10000 : 1;
    }
  }
};
constexpr Tables all_tables;

MIXSTREAM_INLINE __m128i at_16(const void* aligned) {
  return _mm_load_si128(static_cast<const __m128i*>(aligned));
}

/// An optional minus, and digits with at most one point in fifteen bytes; at least one digit. Returns the
/// first byte behind it; null for anything else.
MIXSTREAM_INLINE const char* short_number(const char* at, double& value, const Tables* tables) {
  const bool negative = *at == '-';
  at += negative;
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  const __m128i low = _mm_add_epi8(bytes, at_16(tables->to_low));
  const auto marks =
      static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpgt_epi8(low, at_16(tables->largest_low))));
  const unsigned behind_first = marks & (marks - 1);
  const unsigned point = _tzcnt_u32(marks);
  unsigned length = _tzcnt_u32(behind_first);
  unsigned places = length - point - 1;
  if (behind_first == 0) return nullptr;
  if (at[point] != '.') {  // an integer; it may stand before other bytes that are no digits
    length = point;
    places = 0;
  }
  if (length < 2 && (length == 0 || point == 0)) return nullptr;
  const __m128i order = at_16(tables->digits[point][length]);
  const __m128i digits = _mm_subs_epu8(_mm_shuffle_epi8(bytes, order), at_16(tables->zeros));
  const __m128i pairs = _mm_maddubs_epi16(digits, at_16(tables->tens));
  const __m128i fours = _mm_madd_epi16(pairs, at_16(tables->hundreds));
  const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), at_16(tables->ten_thousands));
  const __m128d halves = _mm_mul_pd(_mm_cvtepi32_pd(eights), _mm_load_pd(tables->halves));
  const __m128d number = _mm_add_sd(halves, _mm_unpackhi_pd(halves, halves));  // exact: 14 digits at most
  const __m128d quotient = _mm_div_sd(number, _mm_load_sd(tables->powers + places));
  const auto sign = static_cast<long long>(negative) << 63;
  _mm_store_sd(&value, _mm_or_pd(quotient, _mm_castsi128_pd(_mm_cvtsi64_si128(sign))));
  return at + length;
}

/// The byte behind the line end at `at`; null if there is none.
MIXSTREAM_INLINE const char* behind_line(const char* at) {
  at += *at == '\r';
  return *at == '\n' ? at + 1 : nullptr;
}

/// One of the two stretches, while it is read.
struct Stretch {
  const char* row;   ///< the first byte not read
  const char* stop;  ///< rows that begin here or later are not read
  PlainTarget target;
  std::size_t rows = 0;
  bool odd = false;

  bool goes_on() const { return row < stop && rows < target.room && !odd; }

  void take(const char* first_byte, const char* next) {
    target.begins[rows++] = static_cast<std::uint32_t>(row - first_byte);
    row = next;
  }

  /// Any row without quotes or faults.
  void read_row(const char* first_byte, const PlainColumns& columns) {
    double* numbers = target.numbers + rows * columns.width;
    const char* at = row;
    odd = columns.comment != 0 && *at == columns.comment;
    for (std::size_t i = 0; i < columns.count && !odd; ++i) {
      const int place = columns.numbers[i];
      at = place >= 0 ? columns.read_field(at, columns.delimiter, numbers[place])
                      : columns.skip_field(at, columns.delimiter);
      if (at != nullptr && i + 1 < columns.count) at = *at == columns.delimiter ? at + 1 : nullptr;
      odd = at == nullptr;
    }
    const char* const next = odd ? nullptr : behind_line(at);
    odd = next == nullptr;
    if (!odd) take(first_byte, next);
  }
};

/// Rows of short numbers of both stretches in turns, while both go on; false: at one of them a row stands
/// that is not that simple.
bool read_both(const char* first_byte, const PlainColumns& columns, Stretch& one, Stretch& two) {
  const Tables* tables = &all_tables;
  asm("" : "+r"(tables));  // what it points to could be anything: no constants to be made in registers
  const int* const places = columns.numbers;
  const std::size_t last = columns.count - 1;
  const char delimiter = columns.delimiter;
  const char comment = columns.comment;
  while (one.goes_on() && two.goes_on()) {
    double* const numbers_one = one.target.numbers + one.rows * columns.width;
    double* const numbers_two = two.target.numbers + two.rows * columns.width;
    const char* a = one.row;
    const char* b = two.row;
    if (comment != 0 && (*a == comment || *b == comment)) return false;
    for (std::size_t i = 0;; ++i) {
      const int place = places[i];
      if (place >= 0) {
        a = short_number(a, numbers_one[place], tables);
        b = short_number(b, numbers_two[place], tables);
        if (a == nullptr || b == nullptr) return false;
      } else {
        a = columns.skip_field(a, delimiter);
        b = columns.skip_field(b, delimiter);
      }
      if (i == last) break;
      if (*a++ != delimiter || *b++ != delimiter) return false;
    }
    a = behind_line(a);
    b = behind_line(b);
    if (a == nullptr || b == nullptr) return false;
    one.take(first_byte, a);
    two.take(first_byte, b);
  }
  return true;
}

/// The first row that begins behind `at`; `stop` if none begins before it.
const char* next_row(const char* at, const char* stop) {
  const void* const newline = __builtin_memchr(at, '\n', static_cast<std::size_t>(stop - at));
  return newline == nullptr ? stop : static_cast<const char*>(newline) + 1;
}

}  // namespace

PlainRows plain_rows_avx2(const char* at, const char* stop, const PlainColumns& columns,
                          const PlainTarget& target) noexcept {
  const auto bytes = static_cast<std::size_t>(stop - at);
  const std::size_t half = bytes / 2 < stretch ? bytes / 2 : stretch;
  const char* const middle = next_row(at + half, stop);
  const std::size_t room = target.room / 2;
  Stretch one{at, middle, {target.numbers, target.begins, target.room - room}};
  Stretch two{middle,
              bytes - half > stretch ? at + half + stretch : stop,
              {target.numbers + one.target.room * columns.width, target.begins + one.target.room, room}};
  std::size_t others = 1;  // rows that are likely to hold longer numbers
  while (one.goes_on() && two.goes_on()) {
    const std::size_t before = one.rows;
    if (read_both(at, columns, one, two)) break;
    if (one.rows != before)
      others = 1;
    else if (others < most_others)
      others *= 2;
    for (std::size_t i = 0; i < others && one.goes_on() && two.goes_on(); ++i) {
      one.read_row(at, columns);
      if (!one.odd) two.read_row(at, columns);
    }
  }
  while (one.goes_on()) one.read_row(at, columns);
  if (one.row != middle) return {one.rows, one.row, one.odd};
  __builtin_memmove(target.numbers + one.rows * columns.width, two.target.numbers,
                    two.rows * columns.width * sizeof(double));
  __builtin_memmove(target.begins + one.rows, two.target.begins, two.rows * sizeof(std::uint32_t));
  return {one.rows + two.rows, two.row, two.odd};
}

}  // namespace mixstream::variants
