#include "log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

namespace mixstream {
namespace {

std::atomic<LogLevel> level_shown{LogLevel::info};
std::atomic<LogFormat> format_used{LogFormat::text};

const char* name_of(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::error:
      return "error";
    case LogLevel::warning:
      return "warning";
    case LogLevel::info:
      return "info";
    case LogLevel::debug:
      return "debug";
  }
  return "info";
}

int priority_of(LogLevel level) noexcept {  // of syslog
  switch (level) {
    case LogLevel::error:
      return 3;
    case LogLevel::warning:
      return 4;
    case LogLevel::info:
      return 6;
    case LogLevel::debug:
      return 7;
  }
  return 6;
}

std::string json_line(LogLevel level, std::string_view text, std::string_view stream) {
  nlohmann::ordered_json line;
  line["time"] = fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::now()));
  line["level"] = name_of(level);
  if (!stream.empty()) line["stream"] = stream;
  line["message"] = text;
  return line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string text_line(LogLevel level, std::string_view text, std::string_view stream) {
  static const bool journald = std::getenv("JOURNAL_STREAM") != nullptr;
  std::string line = journald ? fmt::format("<{}>", priority_of(level))
                              : fmt::format("mixstreamd: {}", level == LogLevel::info ? "" : name_of(level));
  if (!journald && level != LogLevel::info) line += ": ";
  if (!stream.empty()) line += fmt::format("{}: ", stream);
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      line += c;
  }
  return line + "\n";
}

}  // namespace

void set_log(const LogConfig& config) noexcept {
  level_shown = config.level;
  format_used = config.format;
}

void log(LogLevel level, std::string_view text, std::string_view stream) {
  if (level > level_shown.load()) return;
  const std::string line =
      format_used.load() == LogFormat::json ? json_line(level, text, stream) : text_line(level, text, stream);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace mixstream
