#include "output.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "mixstream/report/counted.hpp"
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

/// 446123 as 446000.
std::uint64_t three_digits(double value) {
  std::uint64_t unit = 1;
  for (; value >= 1000.0 * static_cast<double>(unit); unit *= 10) {
  }
  return static_cast<std::uint64_t>(value / static_cast<double>(unit) + 0.5) * unit;
}

}  // namespace

FitOutput::FitOutput(OutputFormat format, bool colour, bool explain)
    : json_(format == OutputFormat::json || (format == OutputFormat::automatic && !stdout_is_terminal())),
      colour_(colour),
      explain_(explain) {}

std::string FitOutput::text_of(const Report& report) const {
  if (json_) return to_json(report) + "\n";
  return to_text(report, {colour_, explain_, terminal_width(STDOUT_FILENO)}) + "\n";
}

bool FitOutput::write(const std::string& text) {
  if (write_all(STDOUT_FILENO, text)) return true;
  closed_ = errno == EPIPE;
  if (!closed_) complain(fmt::format("cannot write the output: {}", std::generic_category().message(errno)));
  return false;
}

Progress::Progress(bool wanted, std::uint64_t total_bytes)
    : wanted_(wanted), total_bytes_(total_bytes), began_(std::chrono::steady_clock::now()), last_(began_) {}

void Progress::show(std::uint64_t rows, std::uint64_t bytes, const std::string& verdict, bool drained) {
  if (!wanted_) return;
  const auto now = std::chrono::steady_clock::now();
  if (!drained && now - last_ < std::chrono::milliseconds(200)) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  std::string line = fmt::format("{}, {} rows/s, {:.1f} MB/s", counted(rows, "row"),
                                 grouped(three_digits(static_cast<double>(rows) / seconds)),
                                 static_cast<double>(bytes) / seconds / 1e6);
  if (total_bytes_ > bytes && bytes > 0) {
    line += fmt::format(", {:.0f} s left",
                        seconds * static_cast<double>(total_bytes_ - bytes) / static_cast<double>(bytes));
  }
  if (!verdict.empty()) line += ", " + verdict;
  if (const std::size_t width = terminal_width(STDERR_FILENO); width > 1 && line.size() >= width)
    line.resize(width - 1);  // a second line could not be taken back
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

void say_that_it_waits() {
  if (::isatty(STDIN_FILENO) == 1)
    complain("waiting for rows on the keyboard: give a file, or type rows and end with Ctrl-D");
}

int fail_with(int code, const std::string& text) {
  complain(text);
  return code;
}

std::string csv_field(const std::string& text, char delimiter) {
  if (text.find_first_of("\"\r\n") == std::string::npos && text.find(delimiter) == std::string::npos)
    return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

std::size_t terminal_width(int descriptor) noexcept {
  struct ::winsize size {};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  return columns == nullptr ? 0 : static_cast<std::size_t>(std::strtoul(columns, nullptr, 10));
}

bool nothing_to_read(int descriptor) noexcept {
  ::pollfd waiting{descriptor, POLLIN, 0};
  return ::poll(&waiting, 1, 0) == 0;
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
