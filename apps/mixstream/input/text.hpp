// Small helpers for texts.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace mixstream {

inline std::string joined(std::initializer_list<std::string_view> parts) {
  std::string result;
  for (const std::string_view part : parts) result.append(part);
  return result;
}

/// Without spaces and tabs at both ends. No throw, no allocation.
inline std::string_view without_blanks(std::string_view text) noexcept {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace mixstream
