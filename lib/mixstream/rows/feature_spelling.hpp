// How features are written: the one way back from a map to its text.
#pragma once

#include <array>
#include <cctype>
#include <charconv>
#include <string>

#include "mixstream/rows/feature_map.hpp"

namespace mixstream {

/// Of a column's name that needs no backquotes.
inline bool is_name_character(char c) noexcept {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

/// Any column's name as the parser reads it in every case: between backquotes, those in it doubled.
std::string backquoted(std::string_view name);

/// Names of the parts of a map, each as the parser reads it.
class FeatureSpelling {
 public:
  explicit FeatureSpelling(const FeatureMap& map) : map_(map) {}

  /// The shortest text that reads back the same.
  static std::string number(double value);
  static std::string quoted(std::string_view text);  ///< "eco", quotes in it doubled

  std::string input(std::size_t input) const;                    ///< flow, or lag(flow,3)
  std::string argument(const FeatureMap::Factor& factor) const;  ///< flow, flow-18 or 18-flow
  std::string factor(const FeatureMap::Factor& factor) const;    ///< without its power
  std::string product(std::span<const FeatureMap::Factor> factors) const;
  std::string category(std::size_t column, const std::vector<std::string>& levels) const;

 private:
  const FeatureMap& map_;
};

}  // namespace mixstream
