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

/// With control characters as \xNN, so that a message stays one line.
inline std::string printable(std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) {
      result += c;
    } else {
      result.append("\\x").append(1, hex[byte >> 4]).append(1, hex[byte & 15]);
    }
  }
  return result;
}

}  // namespace mixstream
