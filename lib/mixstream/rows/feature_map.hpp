// Features from columns: "1,t,t^4" or "1,log(flow),max(0,t-18),mode==\"eco\",lag(power,1)".
// docs/guide/features.md has the language.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mixstream/core/outcome.hpp"

namespace mixstream {

/// The values of columns that hold texts, for a map that names such a column as a whole.
using ColumnLevels = std::map<std::string, std::vector<std::string>>;

/// A list of features. Each is a product or quotient of powers of columns and of functions of one column; "1"
/// is the constant.
class FeatureMap {
 public:
  static constexpr std::size_t most_levels = 32;  ///< of a category: features are few
  static constexpr std::size_t longest_lag = 4096;

  /// Parses the text; columns are the names it uses, in order of first use, or `columns` when given (then an
  /// unknown name is refused, naming the nearest known one, and names may stand as they are where that is not
  /// ambiguous). A column that `levels` has becomes indicators of its values, the first left out. Refuses
  /// empty, doubled and malformed features.
  static Outcome<FeatureMap> parse(std::string_view text);
  static Outcome<FeatureMap> parse(std::string_view text, const std::vector<std::string>& columns,
                                   const ColumnLevels& levels = {});

  /// The plain map: a constant and every column as it is.
  static Outcome<FeatureMap> plain(const std::vector<std::string>& columns);

  std::size_t feature_count() const noexcept { return names_.size(); }
  int constant_feature() const noexcept { return constant_feature_; }  ///< index of "1", or -1
  const std::vector<std::string>& columns() const noexcept { return columns_; }
  const std::vector<std::string>& names() const noexcept {
    return names_;
  }  ///< "u*v^3"; odd column names in backquotes
  /// Odd names stand between backquotes: parse(text()) is this map over the columns that it uses.
  std::string text() const;
  bool is_products() const noexcept { return products_; }  ///< nothing but products of powers of columns

  /// A value of an earlier row: `steps` rows before.
  struct Lag {
    std::size_t column;
    std::size_t steps;
    friend bool operator==(const Lag&, const Lag&) = default;
  };
  const std::vector<Lag>& lags() const noexcept { return lags_; }
  /// What evaluate() takes: the columns' values, then those of the lags (LagMemory finds them).
  std::size_t input_count() const noexcept { return columns_.size() + lags_.size(); }

  /// Whether a row's own value of the column is used, not only earlier ones.
  bool uses(std::size_t column) const noexcept;

  /// Columns that hold texts: their values are codes.
  bool is_text(std::size_t column) const noexcept {
    return column < texts_.size() && !texts_[column].empty();
  }
  std::vector<std::string> text_columns() const;
  /// The code of a text in such a column: the same for all texts that the map does not name. No throw, no
  /// allocation.
  double code_of(std::size_t column, std::string_view text) const noexcept;

  /// features = map(values); values.size() >= input_count(), features.size() == feature_count(). Returns the
  /// first feature that has no value there (the log of a negative number), or -1; such features are NaN. No
  /// throw, no allocation; one multiplication per factor, and the functions.
  int evaluate(std::span<const double> values, std::span<double> features) const noexcept;

  /// Why evaluate() found no value for a feature: "log(flow): flow is -3, and the log of ...".
  std::string fault_words(int feature, std::span<const double> values) const;

  friend bool operator==(const FeatureMap&, const FeatureMap&) = default;

 private:
  friend class FeatureMapParser;
  friend class FeatureSpelling;
  enum class Function : std::uint8_t { column, log, sqrt, max, equals, level };
  struct Factor {
    std::size_t input = 0;  // index of evaluate's values
    int power = 1;          // negative: below the bar
    Function function = Function::column;
    bool minus = false;  // of the argument: shift - column
    double shift = 0.0;  // of the argument: column + shift
    double bound = 0.0;  // max: the other number; equals and level: the code
    friend bool operator==(const Factor&, const Factor&) = default;
  };
  double argument(const Factor& factor, std::span<const double> values) const noexcept;
  double value_of(const Factor& factor, std::span<const double> values) const noexcept;
  void evaluate_products(std::span<const double> values, std::span<double> features) const noexcept;

  std::vector<std::string> columns_;
  std::vector<std::string> names_;
  std::vector<Factor> factors_;    // of all features, one after the other
  std::vector<std::size_t> ends_;  // feature f has the factors from ends_[f-1] to ends_[f]
  std::vector<Lag> lags_;
  std::vector<std::vector<std::string>> texts_;       // by column: the texts that are told apart
  std::map<std::size_t, std::string> category_text_;  // by the first feature of a category: how it is written
  std::map<std::size_t, std::size_t> category_size_;  // features of it
  int constant_feature_ = -1;
  bool products_ = true;
};

/// The rows before, as far as lags reach, of one sensor.
class LagMemory {
 public:
  explicit LagMemory(const FeatureMap& map);

  /// Writes the lagged values behind the columns' own and takes the row in. values.size() ==
  /// map.input_count(). False: a lag reaches back to a row that is not there. No throw, no allocation.
  bool fill(std::span<double> values) noexcept;
  /// A row that could not be read: lags that reach it find nothing.
  void gap() noexcept;
  void clear() noexcept;  ///< nothing before

 private:
  std::vector<FeatureMap::Lag> lags_;
  std::size_t columns_;
  std::vector<std::size_t> begins_;  // of a lag's ring in values_
  std::vector<double> values_;       // NaN: not there
  std::uint64_t rows_ = 0;
};

/// The name among `known` nearest to `wanted` (edit distance, or one that begins so), for "did you mean";
/// empty when none is near.
std::string nearest_name(std::string_view wanted, const std::vector<std::string>& known);

/// A column's name as a feature map has it: odd names between backquotes.
std::string spelled_column(const std::string& name);

}  // namespace mixstream
