// JSON from strangers: parsed only where it is not nested deeply, for whoever copies or destroys it recurses.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace mixstream::web {

inline constexpr int deepest_json = 16;  ///< levels; what the API takes has three

/// Whether brackets outside texts nest no deeper. No throw, no allocation.
inline bool is_shallow(std::string_view text) noexcept {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > deepest_json) return false;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return true;
}

/// Nothing where it is nested too deeply, or is no JSON.
inline std::optional<nlohmann::ordered_json> shallow_json(std::string_view text) {
  if (!is_shallow(text)) return std::nullopt;
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return json;
}

}  // namespace mixstream::web
