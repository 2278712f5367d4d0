#include "input/number_rules.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "input/text.hpp"
#include "input/time.hpp"

namespace mixstream {
namespace {

constexpr std::size_t longest = 63;  // of a number with separators

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

/// The bytes of a thousands separator at the beginning; 0: there is none.
std::size_t separator(std::string_view text, char thousands) noexcept {
  if (text.empty() || thousands == 0) return 0;
  if (text.front() == thousands) return 1;
  if (thousands != ' ') return 0;
  if (text.starts_with("\xC2\xA0")) return 2;      // no-break space
  if (text.starts_with("\xE2\x80\xAF")) return 3;  // narrow no-break space
  return 0;
}

/// Three digits, and no fourth.
bool begins_with_group(std::string_view text) noexcept {
  return text.size() >= 3 && is_digit(text[0]) && is_digit(text[1]) && is_digit(text[2]) &&
         (text.size() == 3 || !is_digit(text[3]));
}

}  // namespace

ParsedNumber parse_number(std::string_view text, const NumberRules& rules) noexcept {
  text = without_blanks(text);
  for (const std::string& word : rules.missing) {
    if (text == word) return {NumberKind::missing, 0.0};
  }
  if (rules.decimal == '.' && rules.thousands == 0) return parse_number(text);
  if (text.size() > longest) return {};
  std::array<char, longest> plain{};
  std::size_t size = 0;
  bool whole = true;  // before the decimal sign
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    const std::size_t gap =
        whole && size > 0 && is_digit(plain[size - 1]) ? separator(rest, rules.thousands) : 0;
    if (gap > 0 && begins_with_group(rest.substr(gap))) {
      i += gap;
      continue;
    }
    if (text[i] == rules.decimal) {
      whole = false;
      plain[size++] = '.';
    } else if (text[i] == '.') {
      return {};
    } else {
      plain[size++] = text[i];
    }
    ++i;
  }
  return parse_number(std::string_view(plain.data(), size));
}

NumberStyle style_of(std::string_view text) noexcept {
  text = without_blanks(text);
  if (text.empty() || text.size() > longest) return NumberStyle::none;
  if (parse_time(text).kind == NumberKind::number) return NumberStyle::time;
  const auto reads = [&](char decimal, char thousands) {
    return parse_number(text, NumberRules{decimal, thousands, {}}).kind == NumberKind::number;
  };
  using enum NumberStyle;
  const bool groups = text.find(',') != text.rfind(',');  // 1,234,567
  const bool point = text.find('.') != std::string_view::npos;
  if (reads(',', 0) && !groups) return !point && reads('.', ',') ? either_comma : decimal_comma;
  if ((groups || point) && reads('.', ',')) return comma_thousands;
  if (reads(',', '.')) return point_thousands;
  if (reads('.', ' ')) return blank_thousands;
  if (reads(',', ' ')) return blank_thousands_comma;
  if (reads('.', '\'')) return apostrophe_thousands;
  const std::size_t number = std::min(text.find_first_not_of("+-.,0123456789"), text.size());
  const std::string_view unit = without_blanks(text.substr(number));
  const bool one_unit = !unit.empty() && unit.size() <= 8 && unit.find(' ') == std::string_view::npos &&
                        unit.find_first_of("0123456789-:") == std::string_view::npos;
  if (one_unit && parse_number(text.substr(0, number)).kind == NumberKind::number) return with_unit;
  return none;
}

}  // namespace mixstream
