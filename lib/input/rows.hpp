// What a row reader hands out: the rows that are there now, and the rows that were refused between them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "mixstream/core/row_fault.hpp"

namespace mixstream {

/// Where a row stands in the (decompressed) input.
struct RowPlace {
  std::uint64_t row = 0;     ///< 1-based, refused rows counted; from the start of the range
  std::uint64_t line = 0;    ///< 1-based line of the row's first byte; 0 in a range that begins inside a file
  std::uint64_t offset = 0;  ///< of the row's first byte, from the start of the file, whatever the range
};

/// The first bytes of a text, copied.
class Excerpt {
 public:
  Excerpt() = default;
  Excerpt(std::string_view text) noexcept : size_(std::min(text.size(), bytes_.size())) {
    std::copy_n(text.data(), size_, bytes_.data());
  }
  std::string_view view() const noexcept { return {bytes_.data(), size_}; }

 private:
  std::array<char, 40> bytes_{};
  std::size_t size_ = 0;
};

struct RefusedRow {
  RowFault fault{};
  RowPlace place;
  std::size_t rows_before = 0;  ///< accepted rows of this batch that came before it
  std::string_view column;      ///< the column at fault, or empty
  Excerpt excerpt;              ///< the beginning of the offending text; may hold any byte
  std::size_t fields = 0;       ///< ragged: fields found
  std::size_t expected = 0;     ///< ragged: fields expected
  std::string_view text{};      ///< of the text column asked for, where the row has one; like Batch::texts
  std::string_view line{};      ///< the row's bytes, where lines were asked for, like Batch::lines; of a line
                                ///< that is too long the first max_line bytes
};

/// One line for stderr, such as: line 7: column "y": "abc" is not a number. Unprintable bytes are escaped.
std::string describe(const RefusedRow& refused);

/// The rows that were there, as views that hold until the reader's next call.
struct Batch {
  std::size_t rows = 0;   ///< accepted rows; 0 also when a signal or the wake descriptor ended the wait
  std::size_t width = 0;  ///< numbers per row, in the order of Selection::numbers
  const double* numbers = nullptr;          ///< row-major rows x width, all finite
  std::span<const RowPlace> places;         ///< one per accepted row
  std::span<const std::string_view> texts;  ///< one per accepted row if Selection::text was asked for
  std::span<const std::string_view> lines;  ///< one per accepted row if Selection::keep_lines was asked for
  std::span<const RefusedRow> refused;      ///< in order; `rows_before` says where each belongs
  bool end = false;                         ///< the input is over; such a batch holds no rows
  std::uint64_t comments = 0;               ///< lines that were passed over as comments since the last batch
  std::uint64_t units_line = 0;  ///< a line of units below the header, passed over; 0: none in this batch

  std::span<const double> values(std::size_t i) const noexcept { return {numbers + i * width, width}; }
};

/// A half-open range of bytes of a file. A row belongs to the range that holds its first byte.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = std::numeric_limits<std::uint64_t>::max();

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

}  // namespace mixstream
