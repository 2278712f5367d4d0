#include "input/time.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "input/text.hpp"

namespace mixstream {
namespace {

/// Takes a text apart from its beginning.
struct Reader {
  std::string_view rest;

  /// Exactly so many digits; -1: they are not there.
  int digits(std::size_t count) noexcept {
    if (rest.size() < count) return -1;
    int value = 0;
    for (const char c : rest.substr(0, count)) {
      if (c < '0' || c > '9') return -1;
      value = 10 * value + (c - '0');
    }
    rest.remove_prefix(count);
    return value;
  }
  bool take(char wanted) noexcept {
    if (rest.empty() || rest.front() != wanted) return false;
    rest.remove_prefix(1);
    return true;
  }
};

/// Days since 1970, or false. Remembers the sign between the parts: the clock follows it.
bool take_date(Reader& in, double& days, bool& extended) noexcept {
  const int year = in.digits(4);
  if (year < 0) return false;
  const char sign = in.rest.starts_with('-') ? '-' : in.rest.starts_with('/') ? '/' : '\0';
  extended = sign != '\0';
  if (extended) in.take(sign);
  const int month = in.digits(2);
  if (month < 0 || (extended && !in.take(sign))) return false;
  const int day = in.digits(2);
  if (day < 0) return false;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return false;
  days = static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
  return true;
}

/// A point or comma and digits, as a fraction; 0 where there is none.
bool take_fraction(Reader& in, double& fraction) noexcept {
  if (!in.take('.') && !in.take(',')) return true;
  double unit = 0.1;
  const std::size_t before = in.rest.size();
  for (int digit = in.digits(1); digit >= 0; digit = in.digits(1), unit /= 10.0) fraction += digit * unit;
  return in.rest.size() < before;
}

bool take_clock(Reader& in, bool extended, double& seconds) noexcept {
  const int hour = in.digits(2);
  if (hour < 0 || hour > 24 || (extended && !in.take(':'))) return false;
  const int minute = in.digits(2);
  if (minute < 0 || minute > 59) return false;
  int second = 0;
  double fraction = 0.0;
  const bool has_seconds =
      extended ? in.take(':') : !in.rest.empty() && in.rest[0] >= '0' && in.rest[0] <= '9';
  if (has_seconds) {
    second = in.digits(2);
    if (second < 0 || second > 60 || !take_fraction(in, fraction)) return false;  // 60: a leap second
  }
  seconds = 3600.0 * hour + 60.0 * minute + second + fraction;
  return seconds <= 86401.0;
}

/// Seconds by which the clock is ahead of UTC.
bool take_zone(Reader& in, double& ahead) noexcept {
  in.rest = without_blanks(in.rest);
  if (in.rest.empty() || in.rest == "Z" || in.rest == "z" || in.rest == "UTC" || in.rest == "GMT") {
    in.rest = {};
    return true;
  }
  const bool west = in.rest.starts_with('-');
  if (!in.take('-') && !in.take('+')) return false;
  const int hours = in.digits(2);
  if (hours < 0 || hours > 23) return false;
  in.take(':');
  const int minutes = in.rest.empty() ? 0 : in.digits(2);
  if (minutes < 0 || minutes > 59) return false;
  ahead = (west ? -60.0 : 60.0) * (60 * hours + minutes);
  return in.rest.empty();
}

}  // namespace

ParsedNumber parse_time(std::string_view text) noexcept {
  Reader in{without_blanks(text)};
  const bool all_digits = in.rest.find_first_not_of("0123456789.") == std::string_view::npos;
  double days = 0.0;
  double seconds = 0.0;
  double ahead = 0.0;
  bool extended = false;
  if (all_digits || !take_date(in, days, extended)) return {};
  const bool clock = in.take('T') || in.take('t') || in.take(' ') || in.take('_');
  if (clock && !take_clock(in, extended, seconds)) return {};
  if (!in.rest.empty() && (!clock || !take_zone(in, ahead))) return {};
  return {NumberKind::number, 86400.0 * days + seconds - ahead};
}

ParsedNumber parse_time_or_number(std::string_view text) noexcept {
  const ParsedNumber time = parse_time(text);
  return time.kind == NumberKind::number ? time : parse_number(text);
}

}  // namespace mixstream
