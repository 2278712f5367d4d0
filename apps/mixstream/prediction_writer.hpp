// Predictions beside the rows they belong to, in the rows' own format.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "input/input.hpp"

namespace mixstream {

/// One number of a prediction, with the digits that mean something.
struct PredictedValue {
  double value = 0.0;
  int decimals = 0;  ///< behind the point; -1: as many as the number has
};

/// Appends rows and what was predicted of them: CSV to CSV, NDJSON to NDJSON, raw to raw.
class PredictionWriter {
 public:
  /// names: of the predicted values, in order. They get a prefix where the input has one of them.
  /// decimal: the sign that the input's numbers have; CSV gets it, unless it is the delimiter.
  PredictionWriter(const Input& input, std::vector<std::string> names, char decimal);

  const std::vector<std::string>& names() const noexcept { return names_; }
  char delimiter() const noexcept { return delimiter_; }
  void append_header(std::string& out) const;
  /// An empty list: nothing could be predicted, and the places stay blank. `line`: the row's bytes.
  void append(std::string& out, std::string_view line, std::span<const PredictedValue> values) const;

 private:
  void append_csv(std::string& out, std::span<const PredictedValue> values) const;
  void append_json(std::string& out, std::string_view line, std::span<const PredictedValue> values) const;
  void append_raw(std::string& out, std::span<const PredictedValue> values) const;

  Format format_;
  char delimiter_;
  char decimal_;
  std::string line_end_;
  std::string header_;
  std::vector<std::string> names_;
};

}  // namespace mixstream
