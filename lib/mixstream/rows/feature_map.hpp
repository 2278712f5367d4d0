// Features from columns: "1,t,t^4,t^7" or "1,u,v,u*v^3,u^2*v^2".
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mixstream/outcome.hpp"

namespace mixstream {

/// A list of products of powers of columns. Each feature is a monomial; "1" is the constant.
class FeatureMap {
 public:
  /// Parses the text; columns are the names it uses, in order of first use, or `columns` when given (then an
  /// unknown name is refused, naming the nearest known one). Refuses empty, doubled and malformed features.
  static Outcome<FeatureMap> parse(std::string_view text);
  static Outcome<FeatureMap> parse(std::string_view text, const std::vector<std::string>& columns);

  /// The plain map: a constant and every column as it is.
  static Outcome<FeatureMap> plain(const std::vector<std::string>& columns);

  std::size_t feature_count() const noexcept { return names_.size(); }
  int constant_feature() const noexcept { return constant_feature_; }  ///< index of "1", or -1
  const std::vector<std::string>& columns() const noexcept { return columns_; }
  const std::vector<std::string>& names() const noexcept {
    return names_;
  }                          ///< "u*v^3"; odd column names in backquotes
  std::string text() const;  ///< names joined by commas: parses back to this map

  /// features = map(values); values in the order of columns(), features.size() == feature_count().
  /// No throw, no allocation; one multiplication per factor.
  void evaluate(std::span<const double> values, std::span<double> features) const noexcept;

  friend bool operator==(const FeatureMap&, const FeatureMap&) = default;

 private:
  friend class FeatureMapParser;
  struct Factor {
    std::size_t column;
    int power;
    friend bool operator==(const Factor&, const Factor&) = default;
  };
  std::vector<std::string> columns_;
  std::vector<std::string> names_;
  std::vector<Factor> factors_;    // of all features, one after the other
  std::vector<std::size_t> ends_;  // feature f has the factors from ends_[f-1] to ends_[f]
  int constant_feature_ = -1;
};

/// The name among `known` nearest to `wanted` (edit distance), for "did you mean"; empty when none is near.
std::string nearest_name(std::string_view wanted, const std::vector<std::string>& known);

}  // namespace mixstream
