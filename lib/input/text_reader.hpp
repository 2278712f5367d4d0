// What line-based readers share: waiting for bytes, long lines, ranges, counting.
#pragma once

#include <optional>

#include "input/batch_builder.hpp"
#include "input/window.hpp"

namespace mixstream {

/// The input behind its head, ready for a reader.
struct TextStart {
  Window window;
  std::uint64_t line = 1;    ///< of the window's first byte; 0: unknown
  bool inside_line = false;  ///< the window begins inside a line that belongs to the range before
};

class TextReader : public RowReader {
 public:
  TextReader(TextStart start, const Selection& selection, const InputSettings& settings);

  Outcome<Batch> next() final;
  std::uint64_t bytes_taken() const noexcept final { return window_.bytes_taken(); }
  std::uint64_t offset() const noexcept final { return window_.offset(); }

 protected:
  /// Reads rows that begin in [at, stop), while the batch has room; every one of them holds its first newline
  /// before window().end(). Returns the first byte not read: less than `stop` if the batch is full, or if a
  /// row needs more bytes.
  virtual const char* read_rows(const char* at, const char* stop) = 0;

  const Window& window() const noexcept { return window_; }
  BatchBuilder& builder() noexcept { return builder_; }
  std::size_t max_line() const noexcept { return max_line_; }

  /// The place of the row at `at`, which is counted.
  RowPlace count_row(const char* at) noexcept { return {++rows_, line_, offset_of(at)}; }
  std::uint64_t offset_of(const char* at) const noexcept {
    return window_.offset() + static_cast<std::uint64_t>(at - window_.begin());
  }
  std::uint64_t line() const noexcept { return line_; }
  void count_lines(std::uint64_t lines) noexcept { line_ += line_ > 0 ? lines : 0; }
  /// Refuses the line [at, newline) and returns the byte behind it.
  const char* refuse_line(RowFault fault, const char* at, const char* newline);

 private:
  void parse();
  const char* drop_rest_of_line(const char* at);

  Window window_;
  BatchBuilder builder_;
  std::size_t max_line_;
  std::uint64_t range_end_;
  std::uint64_t line_;
  std::uint64_t rows_ = 0;
  bool keeps_lines_;
  bool dropping_;  // inside a line of which nothing more is wanted
  bool finished_ = false;
  std::optional<Refusal> broken_;
};

}  // namespace mixstream
