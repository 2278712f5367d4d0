// Rows of numbers from CSV and its relatives.
#pragma once

#include "input/columns.hpp"
#include "input/csv_rows.hpp"
#include "input/text_reader.hpp"

namespace mixstream {

class CsvReader final : public TextReader {
 public:
  /// settings.delimiter must be known by now.
  CsvReader(TextStart start, std::vector<std::string> columns, std::vector<ColumnUse> uses,
            const Selection& selection, const InputSettings& settings);

 private:
  const char* read_rows(const char* at, const char* stop) override;
  const char* plain_row(const char* at, double* numbers, std::string_view& text) const noexcept;
  const char* plain_field(const char* at, double& number) const noexcept;
  const char* any_row(const char* at);
  void judge_row(const char* at, const char* next);
  bool judge_fields(RefusedRow& refused, double* numbers) const noexcept;
  std::string_view text_of(const Field& field);

  std::vector<std::string> columns_;
  std::vector<ColumnUse> uses_;
  std::vector<Field> fields_;
  CsvRules rules_;
  bool try_plain_;
};

}  // namespace mixstream
