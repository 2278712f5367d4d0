#include "mixstream/rows/feature_spelling.hpp"

#include <algorithm>
#include <cmath>

namespace mixstream {

std::string backquoted(std::string_view name) {
  std::string spelled = "`";
  for (const char c : name) spelled.append(c == '`' ? 2 : 1, c);
  return spelled + "`";
}

std::string spelled_column(const std::string& name) {
  const bool plain = !name.empty() && std::ranges::all_of(name, is_name_character) &&
                     std::isdigit(static_cast<unsigned char>(name[0])) == 0;
  return plain ? name : backquoted(name);
}

std::string FeatureSpelling::number(double value) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

std::string FeatureSpelling::quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) result.append(c == '"' ? 2 : 1, c);
  return result + "\"";
}

std::string FeatureSpelling::input(std::size_t input) const {
  if (input < map_.columns_.size()) return spelled_column(map_.columns_[input]);
  const FeatureMap::Lag& lag = map_.lags_[input - map_.columns_.size()];
  return "lag(" + spelled_column(map_.columns_[lag.column]) + "," + std::to_string(lag.steps) + ")";
}

std::string FeatureSpelling::argument(const FeatureMap::Factor& factor) const {
  const std::string name = input(factor.input);
  if (factor.minus) return number(factor.shift) + "-" + name;
  if (factor.shift == 0.0) return name;
  return name + (factor.shift > 0.0 ? "+" : "-") + number(std::abs(factor.shift));
}

std::string FeatureSpelling::factor(const FeatureMap::Factor& factor) const {
  using Function = FeatureMap::Function;
  switch (factor.function) {
    case Function::log:
      return "log(" + argument(factor) + ")";
    case Function::sqrt:
      return "sqrt(" + argument(factor) + ")";
    case Function::max:
      return "max(" + number(factor.bound) + "," + argument(factor) + ")";
    case Function::equals:
    case Function::level:
      return input(factor.input) +
             "==" + quoted(map_.texts_[factor.input][static_cast<std::size_t>(factor.bound)]);
    case Function::column:
      break;
  }
  return argument(factor);
}

std::string FeatureSpelling::product(std::span<const FeatureMap::Factor> factors) const {
  std::string above;
  std::string below;
  for (const FeatureMap::Factor& one : factors) {
    std::string name = factor(one);
    if (std::abs(one.power) > 1) name += "^" + std::to_string(std::abs(one.power));
    if (one.power > 0)
      above += (above.empty() ? "" : "*") + name;
    else
      below += "/" + name;
  }
  return (above.empty() ? "1" : above) + below;
}

std::string FeatureSpelling::category(std::size_t column, const std::vector<std::string>& levels) const {
  std::string text = spelled_column(map_.columns_[column]) + "{";
  for (const std::string& level : levels) text += (text.ends_with('{') ? "" : ",") + quoted(level);
  return text + "}";
}

}  // namespace mixstream
