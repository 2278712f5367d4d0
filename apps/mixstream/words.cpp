#include "words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace mixstream {
namespace {

/// Says what an option takes as a reader would: N, NUMBER, one|of|these, TEXT.
class PlainHelp final : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return {};
    return " " + wanted(option->get_type_name()) + (option->get_expected_max() > 1 ? " ..." : "");
  }

 private:
  /// CLI11 names a type and then every check of it: UINT:WHOLE:POSITIVE, TEXT:{one,of,these}.
  static std::string wanted(const std::string& type) {
    if (const std::size_t open = type.find('{'); open != std::string::npos) {
      std::string choices = type.substr(open + 1, type.find('}', open) - open - 1);
      std::ranges::replace(choices, ',', '|');
      return choices;
    }
    if (type.starts_with("UINT") || type.starts_with("INT")) return "N";
    if (type.starts_with("FLOAT")) return "NUMBER";
    return type.substr(0, type.find(':'));
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> plain_help() {
  return std::make_shared<PlainHelp>();
}

CLI::Validator whole_number() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        std::string digits = text;
        std::erase(digits, '_');
        double value = 0.0;
        const char* end = digits.data() + digits.size();
        const auto [at, error] = std::from_chars(digits.data(), end, value);
        if (error != std::errc() || at != end || !(value >= 0.0 && value <= 9e15) ||
            value != std::floor(value)) {
          return "'" + text + "' is not a whole number";
        }
        text = fmt::format("{:.0f}", value);
        return {};
      },
      "WHOLE");
}

/// Like CLI11's own, but with a message that a person can read.
CLI::Validator number_from(double least, bool itself) {
  return CLI::Validator(
      [least, itself](std::string& text) -> std::string {
        double value = 0.0;
        const char* end = text.data() + text.size();
        const auto [at, error] = std::from_chars(text.data(), end, value);
        const bool number = error == std::errc() && at == end && std::isfinite(value);
        if (number && (value > least || (itself && value == least))) return {};
        return fmt::format("'{}' is not a number {} {}", text, itself ? "from" : "above", least);
      },
      itself ? "NONNEGATIVE" : "POSITIVE");
}

}  // namespace mixstream
