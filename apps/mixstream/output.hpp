// Where fits go: JSON lines, or a table on a terminal; and the progress line on stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "mixstream/report/report.hpp"

namespace mixstream {

enum class OutputFormat { automatic, json, table };

/// Writes whole texts to stdout at once, nothing held back: a fit is seen when it is made.
class FitOutput {
 public:
  FitOutput(OutputFormat format, bool colour, bool explain = false);

  /// False when nobody reads any more (then closed()) or the disk is full (then said on stderr).
  bool write(const Report& report) { return write(text_of(report)); }
  bool write(const std::string& text);
  bool json() const noexcept { return json_; }
  bool closed() const noexcept { return closed_; }  ///< the reader went away: end quietly

 private:
  std::string text_of(const Report& report) const;

  bool json_;
  bool colour_;
  bool explain_;
  bool closed_ = false;
};

/// One line on a terminal's stderr, rewritten a few times a second: rows, rate, bytes, time left.
class Progress {
 public:
  explicit Progress(bool wanted, std::uint64_t total_bytes);
  /// At most a few times a second, but at once when nothing more is there to read.
  void show(std::uint64_t rows, std::uint64_t bytes, const std::string& verdict, bool drained = false);
  void clear();

 private:
  bool wanted_;
  bool shown_ = false;
  std::uint64_t total_bytes_;
  std::chrono::steady_clock::time_point began_;
  std::chrono::steady_clock::time_point last_;
};

/// A message on stderr: "mixstream: ...".
void complain(const std::string& text);

/// On a terminal without input: that rows are waited for, and how to end.
void say_that_it_waits();

/// A message on stderr, and the code to end with.
int fail_with(int code, const std::string& text);

/// A CSV field that reads back as this text.
std::string csv_field(const std::string& text, char delimiter);

/// Whether a read would wait now. No throw, no allocation.
bool nothing_to_read(int descriptor) noexcept;
bool stdout_is_terminal() noexcept;
std::size_t terminal_width(int descriptor) noexcept;  ///< characters; 0: not known
bool stderr_is_terminal() noexcept;
bool colour_wanted(const std::string& choice);  ///< "auto", "always", "never"; NO_COLOR respected

}  // namespace mixstream
