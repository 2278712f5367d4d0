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

constexpr std::array currencies{std::string_view("$"), std::string_view("\xE2\x82\xAC"),
                                std::string_view("\xC2\xA3"), std::string_view("\xC2\xA5")};
constexpr std::array minus_signs{std::string_view("\xE2\x88\x92"), std::string_view("\xE2\x80\x93")};

/// The bytes of one of these signs at the beginning; 0: there is none.
template <std::size_t count>
std::size_t sign_before(std::string_view text, const std::array<std::string_view, count>& signs) noexcept {
  for (const std::string_view sign : signs) {
    if (text.starts_with(sign)) return sign.size();
  }
  return 0;
}

/// What stands behind digits; empty: nothing that could be a unit.
std::string_view unit_of(std::string_view text) noexcept {
  const std::size_t number = std::min(text.find_first_not_of("+-.,0123456789"), text.size());
  const std::string_view unit = without_blanks(text.substr(number));
  const bool one = unit.size() <= 8 && unit.find(' ') == std::string_view::npos &&
                   unit.find_first_of("0123456789-:") == std::string_view::npos;
  return one ? unit : std::string_view();
}

std::string_view without_unit(std::string_view text, std::string_view unit) noexcept {
  return text.substr(0, text.size() - unit.size());
}

/// 1.25D+01, as Fortran writes it.
bool has_other_exponent(std::string_view text) noexcept {
  const std::size_t letter = text.find_first_of("Dd");
  if (letter == std::string_view::npos || letter == 0 || text.size() > longest) return false;
  std::array<char, longest> plain{};
  std::ranges::copy(text, plain.begin());
  plain[letter] = 'E';
  return parse_number(std::string_view(plain.data(), text.size())).kind == NumberKind::number;
}

/// With a backslash before what means something to sed.
std::string for_sed(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (std::string_view("\\.*[]^$#").find(c) != std::string_view::npos) quoted += '\\';
    quoted += c;
  }
  return quoted;
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
  if (const std::string_view unit = unit_of(text);
      !unit.empty() && parse_number(without_unit(text, unit)).kind == NumberKind::number)
    return with_unit;
  const auto is_number = [](std::string_view rest) {
    return parse_number(rest).kind == NumberKind::number || style_of(rest) != none;
  };
  if (const std::size_t sign = sign_before(text, currencies); sign > 0 && is_number(text.substr(sign)))
    return with_currency;
  if (const std::size_t sign = sign_before(text, minus_signs); sign > 0 && is_number(text.substr(sign)))
    return other_minus;
  return has_other_exponent(text) ? other_exponent : none;
}

std::string sed_script_for(NumberStyle style, std::string_view text) {
  text = without_blanks(text);
  const auto sign = [&](const auto& signs) { return text.substr(0, sign_before(text, signs)); };
  switch (style) {
    case NumberStyle::with_unit:
      return joined({"s#\\([0-9]\\) *", for_sed(unit_of(text)), "#\\1#g"});
    case NumberStyle::with_currency:
      return joined({"s#", for_sed(sign(currencies)), " *##g"});
    case NumberStyle::other_minus:
      return joined({"s#", sign(minus_signs), "#-#g"});
    case NumberStyle::other_exponent:
      return "s#\\([0-9.]\\)[Dd]\\([-+0-9]\\)#\\1E\\2#g";
    default:
      return {};
  }
}

bool may_be_unit(std::string_view text, const NumberRules& rules) noexcept {
  constexpr std::size_t longest_unit = 16;
  text = without_blanks(text);
  return !text.empty() && text.size() <= longest_unit && std::ranges::count_if(text, is_digit) <= 2 &&
         parse_number(text, rules).kind == NumberKind::text && style_of(text) == NumberStyle::none;
}

}  // namespace mixstream
