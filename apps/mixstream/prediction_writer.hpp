// Predictions beside the rows they belong to, in the rows' own format.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "input/fields.hpp"
#include "input/input.hpp"

namespace mixstream {

/// One number of a prediction, with the digits that mean something.
struct PredictedValue {
  double value = 0.0;
  int decimals = 0;  ///< behind the point; -1: as many as the number has
};

/// Appends rows and what was predicted of them: CSV to CSV, NDJSON to NDJSON, raw to raw. Not copied: it
/// keeps a parser.
class PredictionWriter {
 public:
  /// names: of the predicted values, in order. They get a prefix where the input has one of them.
  /// decimal: the sign that the input's numbers have; CSV gets it, unless it is the delimiter.
  PredictionWriter(const Input& input, std::vector<std::string> names, char decimal);
  ~PredictionWriter();
  PredictionWriter(const PredictionWriter&) = delete;
  PredictionWriter& operator=(const PredictionWriter&) = delete;

  const std::vector<std::string>& names() const noexcept { return names_; }
  /// Whether rows of the input may stand below those before, under the same header.
  bool continues(const Input& input) const;
  void append_header(std::string& out) const;
  /// An empty list: nothing could be predicted, and the places stay blank. `line`: the row's bytes. Of CSV
  /// the places are always the same: a row of fewer fields gets empty ones, and what a row has too much
  /// stands behind. A key that an object has already gets the prefix in that object.
  void append(std::string& out, std::string_view line, std::span<const PredictedValue> values);

 private:
  struct Parts;
  Parts parts_of(std::string_view line);
  void append_csv(std::string& out, std::string_view line, std::span<const PredictedValue> values);
  void append_json(std::string& out, std::string_view line, std::span<const PredictedValue> values);
  void append_raw(std::string& out, std::span<const PredictedValue> values) const;

  Format format_;
  char delimiter_;
  char decimal_;
  std::string line_end_;
  std::string header_;
  std::vector<std::string> columns_;
  std::vector<std::string> names_;
  std::vector<Field> fields_;  // of a line
  std::string line_;
  struct Json;
  std::unique_ptr<Json> json_;
};

}  // namespace mixstream
