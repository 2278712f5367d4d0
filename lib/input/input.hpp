// Rows of numbers from bytes: CSV, NDJSON or raw doubles, plain, gzip or zstd, from a file, a pipe or memory.
//
//   auto input = open_input("-");                                // waits for the header, no longer
//   if (!input) return input.refusal();
//   auto reader = std::move(input.value()).select({.numbers = {"t", "y"}});
//   if (!reader) return reader.refusal();
//   for (;;) {
//     const auto batch = reader.value()->next();                 // what is there now, at once
//     if (!batch) return batch.refusal();                        // rows before the damage were handed out
//     if (batch.value().end) break;
//     for (std::size_t i = 0; i < batch.value().rows; ++i) absorb(batch.value().values(i));
//     for (const RefusedRow& row : batch.value().refused) ++counts[row.fault];
//   }
//
// Threads and ranks: every one opens the same path with its own range of split_input(path, parts).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "input/bytes.hpp"
#include "input/number_rules.hpp"
#include "input/rows.hpp"
#include "mixstream/core/outcome.hpp"

namespace mixstream {

enum class Format : std::uint8_t { detect, csv, ndjson, f64, f32 };

struct InputSettings {
  Format format = Format::detect;  ///< detect: by the first bytes; raw rows are never guessed
  char delimiter = 0;              ///< of CSV; 0: the most frequent of , ; tab | in the first line, or blank
  bool header = true;              ///< CSV: the first line names the columns; else they are c1, c2, ...
  std::uint64_t header_line = 0;   ///< CSV: the line where the table begins; 0: it is found, see head.hpp
  char comment = 0;                ///< CSV: lines between rows that begin with it are passed over; 0: none
  NumberRules numbers{};           ///< CSV: how numbers are written
  std::size_t raw_width = 0;       ///< numbers per raw row (f64, f32), named c1, c2, ...
  std::size_t max_line = 1 << 20;  ///< bytes; a longer line is refused
  std::size_t batch_rows = 1024;   ///< most rows of one batch
  std::size_t chunk = 1 << 17;     ///< bytes asked of the input at once; memory is a few of them
  ByteRange range{};               ///< part of a seekable, uncompressed file
  int wake_descriptor = -1;        ///< a waiting next() returns without rows when it is readable
  bool (*on_wake)() = nullptr;     ///< asked when the wait for the first row is interrupted: true waits on
};

/// What to read of each row.
struct Selection {
  std::vector<std::string> numbers;  ///< names of the numeric columns; the order of Batch::values
  std::string text{};                ///< name of one column wanted as text, or empty
  bool keep_lines = false;           ///< hand out each row's bytes too, without the line end
  std::string time{};                ///< one of the numbers may be an ISO 8601 time: seconds since 1970
  std::vector<std::string> coded{};  ///< those of the numbers that are texts, made numbers by `code`
  /// The number of a text in a coded column; `context` is code_context. No throw.
  double (*code)(const void* context, std::size_t number, std::string_view text) noexcept = nullptr;
  const void* code_context = nullptr;
};

/// Rows, in order. One thread at a time.
class RowReader {
 public:
  virtual ~RowReader() = default;

  /// The rows that are there, up to batch_rows; waits only while there are none. After the first batches no
  /// allocation. Refuses when the input breaks (read error, damaged compression), after handing out
  /// everything before it.
  virtual Outcome<Batch> next() = 0;

  /// Bytes taken from the file or pipe so far (compressed, where it is).
  virtual std::uint64_t bytes_taken() const noexcept = 0;

  /// Of the first byte behind the rows handed out so far, in the (decompressed) file. A last line without
  /// newline counts as if it had one.
  virtual std::uint64_t offset() const noexcept = 0;
};

struct Opened;  // private: the window and the head of the input

/// An input whose format and columns are known, before any row is read.
class Input {
 public:
  explicit Input(std::unique_ptr<Opened> opened);
  Input(Input&&) noexcept;
  Input& operator=(Input&&) noexcept;
  ~Input();

  /// In file order. NDJSON: the keys of the first object.
  const std::vector<std::string>& columns() const noexcept;
  Format format() const noexcept;             ///< never Format::detect
  char delimiter() const noexcept;            ///< of CSV
  std::uint64_t first_line() const noexcept;  ///< number of the line behind the head
  std::uint64_t first_row() const noexcept;   ///< offset of the first byte behind the head
  bool compressed() const noexcept;           ///< gzip or zstd
  bool carriage_returns() const noexcept;     ///< CSV: the header's line ends with one
  std::string_view header() const noexcept;   ///< CSV: the line of names as it stands there; empty: none
  /// What was found about the head that its reader should know: a preamble, a header in a comment. Sentences.
  const std::vector<std::string>& notes() const noexcept;
  /// The bytes of the first rows, up to `lines` complete lines or `most` bytes; waits for them. They stay to
  /// be read. Empty for raw rows. The view holds until the input is used again.
  Outcome<std::string_view> first_lines(std::size_t lines, std::size_t most = 1 << 20);
  /// Refuses unknown and ambiguous names; the text lists the columns and the nearest name.
  Outcome<std::unique_ptr<RowReader>> select(const Selection& selection) &&;

 private:
  std::unique_ptr<Opened> opened_;
};

/// Opens a file, or standard input for "-", and reads as far as the first row. Refuses an unreadable path, an
/// empty input, a binary one without a format, and contradictory settings.
Outcome<Input> open_input(const std::string& path, InputSettings settings = {});
Outcome<Input> open_input(std::unique_ptr<ByteSource> source, InputSettings settings = {});

/// The rows that a reader of these settings would count, refused ones too. Reads the input; fields are not
/// read as numbers.
Outcome<std::uint64_t> count_rows(const std::string& path, const InputSettings& settings);

/// Cuts a file into `parts` ranges of about equal size; one whole range where that cannot be done (a pipe, a
/// compressed file). Rows of all ranges together are the rows of the file, each once, whatever a quoted field
/// holds.
Outcome<std::vector<ByteRange>> split_input(const std::string& path, std::size_t parts);

}  // namespace mixstream
