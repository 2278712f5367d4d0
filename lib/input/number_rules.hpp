// How people write numbers, where it is not as programs do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "input/number.hpp"

namespace mixstream {

struct NumberRules {
  char decimal = '.';
  char thousands = 0;                  ///< between groups of three digits; 0: none
  std::vector<std::string> missing{};  ///< texts that mean a missing value, beside the usual ones

  /// Nothing but what parse_number itself reads.
  bool plain() const noexcept { return decimal == '.' && thousands == 0 && missing.empty(); }
};

/// parse_number by these rules. With thousands ' ' the unbroken spaces of Unicode separate too. No throw, no
/// allocation.
ParsedNumber parse_number(std::string_view text, const NumberRules& rules) noexcept;

/// What a text that is no number by parse_number would be otherwise: what to advise.
enum class NumberStyle : unsigned char {
  none,
  decimal_comma,          ///< 20,5
  either_comma,           ///< 1,234: a decimal or a thousands comma
  comma_thousands,        ///< 1,234.5 or 1,234,567
  point_thousands,        ///< 1.234,5
  blank_thousands,        ///< 1 234.5
  blank_thousands_comma,  ///< 1 234,5
  apostrophe_thousands,   ///< 1'234.5
  time,                   ///< ISO 8601
  with_unit,              ///< 12.5 kW
  with_currency,          ///< $12.50
  other_minus,            ///< a minus sign that is no hyphen
  other_exponent          ///< 1.25D+01
};
NumberStyle style_of(std::string_view text) noexcept;

/// For the last four: what sed makes numbers of such texts with.
std::string sed_script_for(NumberStyle style, std::string_view text);

/// Whether a field below the header may be a unit, such as m3/h: a short text of two digits at most that is
/// no number, no time and no word for a missing value. No throw, no allocation.
bool may_be_unit(std::string_view text, const NumberRules& rules) noexcept;

}  // namespace mixstream
