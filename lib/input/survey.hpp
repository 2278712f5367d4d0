// What the columns of an input hold, by a look at its rows.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "input/fields.hpp"
#include "input/input.hpp"
#include "input/number_rules.hpp"

namespace mixstream {

enum class ColumnKind : std::uint8_t { empty, number, time, category, text, constant, identifier };

/// The stable name, such as "category". No throw.
const char* name_of(ColumnKind kind) noexcept;

/// Steps between times, on a scale of eighths of an octave, and the largest.
class StepCounts {
 public:
  void add(double step) noexcept;
  std::uint64_t steps() const noexcept { return steps_; }
  double median() const noexcept;  ///< or a step within a tenth of it
  std::uint64_t longer_than(double step) const noexcept;
  double longest() const noexcept { return longest_; }
  std::uint64_t backward() const noexcept { return backward_; }  ///< steps below zero

 private:
  static constexpr int bins = 1024;
  static int bin_of(double step) noexcept;

  std::array<std::uint64_t, bins> counts_{};
  std::array<double, bins> examples_{};  // a step of the bin
  std::uint64_t steps_ = 0;
  std::uint64_t backward_ = 0;
  double longest_ = 0.0;
};

/// One column, value by value.
class ColumnSurvey {
 public:
  static constexpr std::size_t most_values = 1000;  ///< that are told apart

  ColumnSurvey(std::string name, const NumberRules& rules) : name_(std::move(name)), rules_(&rules) {}

  void add(std::string_view text);
  void add(double number);  ///< of a raw row

  const std::string& name() const noexcept { return name_; }
  ColumnKind kind() const;
  std::uint64_t rows() const noexcept { return rows_; }
  std::uint64_t missing() const noexcept { return missing_; }
  std::uint64_t numbers() const noexcept { return numbers_; }
  std::uint64_t texts() const noexcept { return texts_; }  ///< neither number, time nor missing
  double least() const noexcept { return least_; }
  double greatest() const noexcept { return greatest_; }
  std::uint64_t longest_run() const noexcept {
    return longest_run_;
  }  ///< of the same value, one after the other
  std::uint64_t longest_run_row() const noexcept { return longest_run_row_; }  ///< where it begins, from 1
  const StepCounts& steps() const noexcept { return steps_; }
  /// The values in order, those of missing ones not among them; at most most_values.
  const std::set<std::string, std::less<>>& values() const noexcept { return values_; }
  bool more_values() const noexcept { return more_values_; }
  /// A number of a few whole values in many rows: more likely a code than a measurement. No throw.
  bool is_code() const noexcept;
  NumberStyle style() const;  ///< of most values that are no numbers as the rules go
  const std::string& example() const noexcept {
    return example_;
  }  ///< of a number in another style, or empty
  /// One to three words that stand among numbers again and again; empty: none.
  std::vector<std::string> words_among_numbers() const;
  std::uint64_t words() const noexcept { return styles_[0]; }  ///< texts that are no number in any style
  /// Every point stands before three digits: thousands, where commas are decimal.
  bool has_point_groups() const noexcept;

 private:
  void count_value(std::string_view text);
  void count_number(double number);
  bool is_time() const;
  bool counts_rows() const;

  std::string name_;
  const NumberRules* rules_;
  std::uint64_t rows_ = 0;
  std::uint64_t missing_ = 0;
  std::uint64_t numbers_ = 0;
  std::uint64_t times_ = 0;
  std::uint64_t texts_ = 0;
  std::array<std::uint64_t, 16> styles_{};
  double least_ = std::numeric_limits<double>::infinity();
  double greatest_ = -std::numeric_limits<double>::infinity();
  double last_ = std::numeric_limits<double>::quiet_NaN();
  bool counts_up_ = true;  // each number one more than the last
  bool whole_ = true;      // so far
  StepCounts steps_;
  std::set<std::string, std::less<>> values_;
  bool more_values_ = false;
  std::string last_value_;
  std::uint64_t run_ = 0;
  std::uint64_t longest_run_ = 0;
  std::uint64_t longest_run_row_ = 0;
  std::set<std::string, std::less<>> words_;  // that are no numbers
  std::string example_;
  std::uint64_t points_ = 0;        // numbers with a point
  std::uint64_t point_groups_ = 0;  // of them, those where it could part thousands
};

/// Cuts lines of rows into the texts of the columns.
class LineFields {
 public:
  LineFields(Format format, char delimiter, std::vector<std::string> columns);
  ~LineFields();
  LineFields(const LineFields&) = delete;
  LineFields& operator=(const LineFields&) = delete;

  /// One text for each column, those that are missing empty; empty: the line is no row. They hold until the
  /// next call.
  const std::vector<std::string>& cut(std::string_view line);

 private:
  struct Json;
  void cut_csv(std::string_view line);
  void cut_json(std::string_view line);

  Format format_;
  char delimiter_;
  std::vector<std::string> columns_;
  std::vector<std::string> texts_;
  std::vector<Field> fields_;
  std::string line_;
  std::unique_ptr<Json> json_;
};

/// The columns of the first lines of an input, which stay to be read. A line of units is not counted. Waits
/// for the lines. Raw rows: none.
Outcome<std::vector<ColumnSurvey>> survey(Input& input, const NumberRules& rules, std::size_t lines);

}  // namespace mixstream
