#include "input/time.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

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
  int one_or_two_digits() noexcept {
    const bool two = rest.size() > 1 && rest[1] >= '0' && rest[1] <= '9';
    return digits(two ? 2 : 1);
  }
  bool take(char wanted) noexcept {
    if (rest.empty() || rest.front() != wanted) return false;
    rest.remove_prefix(1);
    return true;
  }
};

/// How the parts of a date stand to each other.
enum class DateOrder : unsigned char { compact, year_first, day_first, month_first };

/// Three numbers, a sign between them: 2024-05-01, 2024/05/01, 01.05.2024, 05/01/2024; or 20240501.
bool take_date(Reader& in, double& days, DateOrder& order) noexcept {
  const std::size_t first_sign = in.rest.find_first_not_of("0123456789");
  const char sign = first_sign == std::string_view::npos ? '\0' : in.rest[first_sign];
  std::array<int, 3> parts{};
  if (first_sign == 4 && (sign == '-' || sign == '/')) {
    order = DateOrder::year_first;
    parts = {in.digits(4), in.take(sign) ? in.digits(2) : -1, in.take(sign) ? in.digits(2) : -1};
  } else if (first_sign <= 2 && (sign == '.' || sign == '/')) {
    order = sign == '.' ? DateOrder::day_first : DateOrder::month_first;
    const int first = in.one_or_two_digits();
    const int second = in.take(sign) ? in.one_or_two_digits() : -1;
    const int year = in.take(sign) ? in.digits(4) : -1;
    parts = {year, sign == '.' ? second : first, sign == '.' ? first : second};
  } else {
    order = DateOrder::compact;
    parts = {in.digits(4), in.digits(2), in.digits(2)};
  }
  if (std::ranges::any_of(parts, [](int part) { return part < 0; })) return false;
  const std::chrono::year_month_day date{std::chrono::year(parts[0]),
                                         std::chrono::month(static_cast<unsigned>(parts[1])),
                                         std::chrono::day(static_cast<unsigned>(parts[2]))};
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
  const int hour = extended ? in.one_or_two_digits() : in.digits(2);
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

/// AM or PM behind a clock of twelve hours; true without either.
bool take_half_of_day(Reader& in, double& seconds, bool& found) noexcept {
  in.rest = without_blanks(in.rest);
  const bool after = in.rest.starts_with("PM") || in.rest.starts_with("pm");
  found = after || in.rest.starts_with("AM") || in.rest.starts_with("am");
  if (!found) return true;
  in.rest.remove_prefix(2);
  constexpr double noon = 12.0 * 3600.0;
  if (seconds >= noon + 3600.0 || seconds < 3600.0) return false;
  if (seconds >= noon) seconds -= noon;
  if (after) seconds += noon;
  return true;
}

}  // namespace

ParsedNumber parse_time(std::string_view text) noexcept {
  Reader in{without_blanks(text)};
  const bool could_be_number = in.rest.find_first_not_of("0123456789.") == std::string_view::npos &&
                               std::ranges::count(in.rest, '.') < 2;
  double days = 0.0;
  double seconds = 0.0;
  double ahead = 0.0;
  bool in_halves = false;
  DateOrder order = DateOrder::compact;
  if (could_be_number || !take_date(in, days, order)) return {};
  const bool clock = in.take('T') || in.take('t') || in.take(' ') || in.take('_');
  if (clock && !take_clock(in, order != DateOrder::compact, seconds)) return {};
  if (clock && !take_half_of_day(in, seconds, in_halves)) return {};
  if (order == DateOrder::month_first && !in_halves) return {};  // or is the day first?
  if (!in.rest.empty() && (!clock || !take_zone(in, ahead))) return {};
  return {NumberKind::number, 86400.0 * days + seconds - ahead};
}

ParsedNumber parse_time_or_number(std::string_view text) noexcept {
  const ParsedNumber time = parse_time(text);
  return time.kind == NumberKind::number ? time : parse_number(text);
}

double clock_unit(double time) noexcept {
  constexpr double year_5138 = 1e11;  // no clock in seconds reaches so far
  double unit = 1.0;
  for (double size = std::abs(time); size >= year_5138 && std::isfinite(size); size /= 1e3) unit *= 1e-3;
  return unit;
}

}  // namespace mixstream
