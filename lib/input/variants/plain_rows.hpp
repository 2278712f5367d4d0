// Many plain CSV rows at once, with AVX2. Where a number begins is known only when the one before it has been
// read; so two stretches of rows are read in turns, and neither waits for the other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mixstream::variants {

/// Readable bytes that the caller guarantees behind the last row.
inline constexpr std::size_t plain_reach = 48;

/// A field that is no short plain number: returns the first byte behind it and its value, or null.
using ReadField = const char* (*)(const char* at, char delimiter, double& value) noexcept;
/// The first byte behind a field that is not wanted.
using SkipField = const char* (*)(const char* at, char delimiter) noexcept;

struct PlainColumns {
  const int* numbers;  ///< for every column of the file: its place among the row's numbers, or -1
  std::size_t count;
  std::size_t width;  ///< numbers of a row
  char delimiter;
  char comment;  ///< first byte of lines that are no rows; 0: none
  ReadField read_field;
  SkipField skip_field;
};

/// Where rows go: the numbers of row i at i * width, where it begins as its distance from the first byte
/// read.
struct PlainTarget {
  double* numbers;
  std::uint32_t* begins;
  std::size_t room;  ///< rows
};

struct PlainRows {
  std::size_t rows = 0;
  const char* next = nullptr;  ///< the first byte not read
  bool odd = false;            ///< the row there is not plain
};

/// Reads rows from `at` on that begin before `stop`, each with its newline in the readable bytes, as many as
/// there is room for or the stretch of one call holds. No throw, no allocation.
PlainRows plain_rows_avx2(const char* at, const char* stop, const PlainColumns& columns,
                          const PlainTarget& target) noexcept;

}  // namespace mixstream::variants
