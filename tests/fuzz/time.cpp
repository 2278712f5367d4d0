// The reader of times, on any text: what is a time stays one in blanks, with a zone, and written out again.
#include <cmath>
#include <ctime>
#include <string>

#include "fuzz/target.hpp"
#include "input/time.hpp"

using namespace mixstream;

namespace {

bool is_time(const ParsedNumber& parsed, double seconds) {
  return parsed.kind == NumberKind::number && parsed.value == seconds;
}

/// As the C library writes the whole second that the time lies in.
std::string written(double seconds) {
  const auto whole = static_cast<std::time_t>(std::floor(seconds));
  std::tm parts{};
  require(::gmtime_r(&whole, &parts) != nullptr);
  char text[40];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  const std::size_t year = std::string_view(text, size).find('-');
  return std::string(4 - std::min<std::size_t>(year, 4), '0') + std::string(text, size);
}

}  // namespace

void fuzz(std::string_view bytes) {
  const ParsedNumber time = parse_time(bytes);
  const ParsedNumber either = parse_time_or_number(bytes);
  require(clock_unit(either.value) > 0.0 && clock_unit(either.value) <= 1.0);
  if (time.kind != NumberKind::number) {
    require(time.kind == NumberKind::text);
    return;
  }
  require(std::isfinite(time.value) && is_time(either, time.value));
  require(std::abs(time.value) < 3e11);  // the years 0 to 9999
  const std::string text(bytes);
  require(is_time(parse_time(" \t" + text + "  "), time.value));
  if (const ParsedNumber zoned = parse_time(text + "Z"); zoned.kind == NumberKind::number) {
    require(zoned.value == time.value);
    require(is_time(parse_time(text + "+01:00"), time.value - 3600.0));
    require(is_time(parse_time(text + "-0030"), time.value + 1800.0));
  }
  if (time.value < -62167219200.0 || time.value >= 253402300800.0) return;  // a zone moved it out of them
  require(is_time(parse_time(written(time.value)), std::floor(time.value)));
}
