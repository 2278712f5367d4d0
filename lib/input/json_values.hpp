// What a JSON value is as a number or a text of a row.
#pragma once

#include <simdjson.h>

#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "input/number.hpp"

namespace mixstream {

/// A number, or a text that holds one; null is missing. No throw, no allocation.
inline ParsedNumber number_of(const simdjson::dom::element& value) noexcept {
  using Type = simdjson::dom::element_type;
  switch (value.type()) {
    case Type::INT64:
    case Type::UINT64:
    case Type::DOUBLE:
      return {NumberKind::number, value.get_double().value_unsafe()};
    case Type::STRING:
      return parse_number(value.get_string().value_unsafe());
    case Type::NULL_VALUE:
      return {NumberKind::missing, 0.0};
    default:
      return {};
  }
}

/// How a value that is no number is shown in a message. No throw, no allocation.
inline std::string_view excerpt_of(const simdjson::dom::element& value) noexcept {
  using Type = simdjson::dom::element_type;
  switch (value.type()) {
    case Type::STRING:
      return value.get_string().value_unsafe();
    case Type::BOOL:
      return value.get_bool().value_unsafe() ? "true" : "false";
    case Type::OBJECT:
      return "{...}";
    case Type::ARRAY:
      return "[...]";
    default:
      return "null";
  }
}

template <class Number>
void append_number(std::string& text, Number number) {
  std::array<char, 32> digits{};
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

/// Appends a text, number or truth value as a text; false for null and nested values.
inline bool append_text(const simdjson::dom::element& value, std::string& text) {
  using Type = simdjson::dom::element_type;
  switch (value.type()) {
    case Type::STRING:
    case Type::BOOL:
      text.append(excerpt_of(value));
      return true;
    case Type::INT64:
      append_number(text, value.get_int64().value_unsafe());
      return true;
    case Type::UINT64:
      append_number(text, value.get_uint64().value_unsafe());
      return true;
    case Type::DOUBLE:
      append_number(text, value.get_double().value_unsafe());
      return true;
    default:
      return false;
  }
}

}  // namespace mixstream
