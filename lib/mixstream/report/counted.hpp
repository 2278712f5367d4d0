// Counts as people write them.
#pragma once

#include <cstdint>
#include <string>

namespace mixstream {

/// 1234567 as 1,234,567.
inline std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

/// "1 row", "1,200 rows".
inline std::string counted(std::uint64_t number, const std::string& what) {
  return grouped(number) + " " + what + (number == 1 ? "" : "s");
}

}  // namespace mixstream
