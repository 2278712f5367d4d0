#include "input/fields.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace mixstream {
namespace {

const char* find(const char* begin, const char* end, char byte) noexcept {
  const void* const found = std::memchr(begin, byte, static_cast<std::size_t>(end - begin));
  return found == nullptr ? end : static_cast<const char*>(found);
}

/// The closing quote of the field whose text begins at `at`, or `end`.
const char* closing_quote(const char* at, const char* end, bool& doubled) noexcept {
  for (;;) {
    at = find(at, end, '"');
    if (at == end || at + 1 == end || at[1] != '"') return at;
    doubled = true;
    at += 2;
  }
}

bool at_line_end(const char* at, const char* end) noexcept {
  return at != end && (*at == '\n' || (*at == '\r' && at + 1 != end && at[1] == '\n'));
}

bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t';
}

const char* skip_blanks(const char* at, const char* end) noexcept {
  while (at != end && is_blank(*at)) ++at;
  return at;
}

/// A line whose fields stand between runs of blanks.
Cut cut_between_blanks(const char* at, const char* end, std::vector<Field>& fields, const char*& next) {
  for (at = skip_blanks(at, end); !at_line_end(at, end); at = skip_blanks(at, end)) {
    if (at == end) return Cut::open;
    Field field;
    if (*at == '"') {
      field.quoted = true;
      const char* const close = closing_quote(at + 1, end, field.doubled);
      if (close == end || close + 1 == end) return Cut::open;
      field.bytes = {at + 1, close};
      at = close + 1;
      if (!is_blank(*at) && !at_line_end(at, end))
        return *at == '\r' && at + 1 == end ? Cut::open : Cut::broken_quote;
    } else {
      const char* const stop = std::find_if(at, end, [](char c) { return is_blank(c) || c == '\n'; });
      if (stop == end) return Cut::open;
      const bool carriage = *stop == '\n' && stop[-1] == '\r';
      field.bytes = {at, stop - (carriage ? 1 : 0)};
      at = stop - (carriage ? 1 : 0);
    }
    fields.push_back(field);
  }
  next = at + (*at == '\r' ? 2 : 1);
  return Cut::row;
}

}  // namespace

Cut cut_row(const char* begin, const char* end, char delimiter, std::vector<Field>& fields,
            const char*& next) {
  fields.clear();
  if (delimiter == ' ') return cut_between_blanks(begin, end, fields, next);
  for (const char* at = begin;;) {
    Field field;
    if (at != end && *at == '"') {
      field.quoted = true;
      const char* const close = closing_quote(at + 1, end, field.doubled);
      if (close == end || close + 1 == end) return Cut::open;
      field.bytes = {at + 1, close};
      at = close + 1;
      if (*at == '\r' && at + 1 == end) return Cut::open;
      if (*at != delimiter && !at_line_end(at, end)) return Cut::broken_quote;
    } else {
      const char* const stop = std::find_if(at, end, [&](char c) { return c == delimiter || c == '\n'; });
      if (stop == end) return Cut::open;
      const bool carriage = *stop == '\n' && stop != at && stop[-1] == '\r';
      field.bytes = {at, stop - (carriage ? 1 : 0)};
      at = stop;
    }
    fields.push_back(field);
    if (*at == delimiter) {
      ++at;
      continue;
    }
    next = at + (*at == '\r' ? 2 : 1);
    return Cut::row;
  }
}

void append_unquoted(const Field& field, std::string& text) {
  for (std::size_t i = 0; i < field.bytes.size(); ++i) {
    text += field.bytes[i];
    if (field.doubled && field.bytes[i] == '"') ++i;
  }
}

const char* field_end(const char* at, char delimiter) noexcept {
#if defined(__SSE2__)
  const __m128i delimiters = _mm_set1_epi8(delimiter);
  for (;; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i ends =
        _mm_or_si128(_mm_cmpeq_epi8(bytes, delimiters), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')));
    const __m128i odd =
        _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
    const auto marks = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(ends, odd)));
    if (marks != 0) return at + std::countr_zero(marks);
  }
#else
  while (*at != delimiter && *at != '\n' && *at != '"' && *at != '\0') ++at;
  return at;
#endif
}

}  // namespace mixstream
