// Where fits go: JSON lines, or a table on a terminal; and the progress line on stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "mixstream/report/report.hpp"

namespace mixstream {

enum class OutputFormat { automatic, json, table };

/// Writes whole reports to stdout at once and flushes: a fit is seen when it is made.
class FitOutput {
 public:
  FitOutput(OutputFormat format, bool colour);

  /// False when nobody reads any more (closed pipe) or the disk is full; error() tells which.
  bool write(const Report& report);
  bool closed() const noexcept { return closed_; }  ///< the reader went away: end quietly

 private:
  bool json_;
  bool colour_;
  bool closed_ = false;
};

/// One line on a terminal's stderr, rewritten a few times a second: rows, rate, bytes, time left.
class Progress {
 public:
  explicit Progress(bool wanted, std::uint64_t total_bytes);
  void show(std::uint64_t rows, std::uint64_t bytes, const std::string& verdict);
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

bool stdout_is_terminal() noexcept;
bool stderr_is_terminal() noexcept;
bool colour_wanted(const std::string& choice);  ///< "auto", "always", "never"; NO_COLOR respected

}  // namespace mixstream
