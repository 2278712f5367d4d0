// The number reader against strtod, on any bytes.
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "fuzz/target.hpp"
#include "input/number.hpp"
#include "input/number_rules.hpp"
#include "input/time.hpp"

namespace {

using namespace mixstream;

/// A decimal as the reader promises to understand it, told by its grammar alone.
bool is_decimal(const std::string& text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at - begin;
  };
  const auto skip = [&](const char* any) {
    if (at < text.size() && text[at] != '\0' && std::strchr(any, text[at]) != nullptr) return ++at, true;
    return false;
  };
  while (skip(" \t")) {
  }
  skip("+-");
  std::size_t count = digits();
  if (skip(".")) count += digits();
  if (count == 0) return false;
  if (skip("eE")) {
    skip("+-");
    if (digits() == 0) return false;
  }
  while (skip(" \t")) {
  }
  skip("%");
  while (skip(" \t")) {
  }
  return at == text.size();
}

}  // namespace

void fuzz(std::string_view bytes) {
  const std::string text(bytes);
  require(parse_time(bytes).kind == NumberKind::text || std::isfinite(parse_time(bytes).value));
  for (const NumberRules& rules : {NumberRules{',', '.', {"-"}}, NumberRules{'.', ' ', {}}}) {
    const ParsedNumber ruled = parse_number(bytes, rules);
    require(ruled.kind != NumberKind::number || std::isfinite(ruled.value));
  }
  [[maybe_unused]] const NumberStyle style = style_of(bytes);
  const ParsedNumber parsed = parse_number(bytes);
  const double expected = std::strtod(text.c_str(), nullptr);
  const auto bits = std::bit_cast<std::uint64_t>(expected);
  if (is_decimal(text)) {
    require(parsed.kind == (std::isinf(expected) ? NumberKind::infinite : NumberKind::number));
    if (parsed.kind == NumberKind::number) require(std::bit_cast<std::uint64_t>(parsed.value) == bits);
  } else {
    require(parsed.kind != NumberKind::number);
  }

  const std::string padded = text + ',' + std::string(plain_reach, '5');
  double plain = 0.0;
  const char* const end = parse_plain(padded.data(), plain);
  if (end == padded.data() + text.size()) {
    require(is_decimal(text));
    require(std::bit_cast<std::uint64_t>(plain) == bits);
  }
}
