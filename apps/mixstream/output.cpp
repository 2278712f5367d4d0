#include "output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "mixstream/report/json.hpp"
#include "mixstream/report/text.hpp"

namespace mixstream {
namespace {

/// Writes all of the text to a descriptor; false on error.
bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

FitOutput::FitOutput(OutputFormat format, bool colour)
    : json_(format == OutputFormat::json || (format == OutputFormat::automatic && !stdout_is_terminal())),
      colour_(colour) {}

bool FitOutput::write(const Report& report) {
  const std::string text = json_ ? to_json(report) + "\n" : to_text(report, {colour_}) + "\n";
  if (write_all(STDOUT_FILENO, text)) return true;
  closed_ = errno == EPIPE;
  if (!closed_) complain(fmt::format("cannot write the fit: {}", std::generic_category().message(errno)));
  return false;
}

Progress::Progress(bool wanted, std::uint64_t total_bytes)
    : wanted_(wanted), total_bytes_(total_bytes), began_(std::chrono::steady_clock::now()), last_(began_) {}

void Progress::show(std::uint64_t rows, std::uint64_t bytes, const std::string& verdict) {
  if (!wanted_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::milliseconds(200)) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  std::string line =
      fmt::format("{} rows, {:.3g} rows/s, {:.1f} MB/s", rows, static_cast<double>(rows) / seconds,
                  static_cast<double>(bytes) / seconds / 1e6);
  if (total_bytes_ > bytes && bytes > 0) {
    line += fmt::format(", {:.0f} s left",
                        seconds * static_cast<double>(total_bytes_ - bytes) / static_cast<double>(bytes));
  }
  if (!verdict.empty()) line += ", " + verdict;
  write_all(STDERR_FILENO, "\r\x1b[K" + line);
  shown_ = true;
}

void Progress::clear() {
  if (shown_) write_all(STDERR_FILENO, "\r\x1b[K");
  shown_ = false;
}

void complain(const std::string& text) {
  write_all(STDERR_FILENO, "mixstream: " + text + "\n");
}

bool stdout_is_terminal() noexcept {
  return ::isatty(STDOUT_FILENO) == 1;
}
bool stderr_is_terminal() noexcept {
  return ::isatty(STDERR_FILENO) == 1;
}

bool colour_wanted(const std::string& choice) {
  if (choice == "always") return true;
  if (choice == "never") return false;
  const char* no_colour = std::getenv("NO_COLOR");
  return stdout_is_terminal() && (no_colour == nullptr || *no_colour == '\0');
}

}  // namespace mixstream
