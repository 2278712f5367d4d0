// A number as a person writes it: a few digits, and no power of ten that fits on the line.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace mixstream {

/// 446000, 0.0031, 12.5: so many digits that say something; all of those before the point. Allocates.
inline std::string plain_number(double value, int digits = 3) {
  const double size = std::abs(value);
  if (!std::isfinite(value) || size == 0.0 || size >= 1e9 || size < 1e-5)
    return fmt::format("{:.{}g}", value, digits);
  const int places = std::clamp(digits - 1 - static_cast<int>(std::floor(std::log10(size))), 0, 8);
  std::string text = fmt::format("{:.{}f}", value, places);
  if (places == 0) return text;
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace mixstream
