// Rows of numbers from CSV and its relatives.
#pragma once

#include "input/columns.hpp"
#include "input/csv_rows.hpp"
#include "input/number_rules.hpp"
#include "input/text_reader.hpp"
#include "input/variants/plain_rows.hpp"

namespace mixstream {

/// What a reader must know of the head.
struct CsvHead {
  bool last_is_unnamed = false;                    ///< the header's last field is empty
  std::uint64_t below_header = ~std::uint64_t{0};  ///< offset of the line below the header, if there is one
};

class CsvReader final : public TextReader {
 public:
  /// settings.delimiter must be known by now.
  CsvReader(TextStart start, std::vector<std::string> columns, std::vector<ColumnUse> uses,
            const Selection& selection, const InputSettings& settings, CsvHead head);

 private:
  const char* read_rows(const char* at, const char* stop) override;
  const char* many_rows(const char* at, const char* stop);
  const char* one_row(const char* at);
  const char* plain_row(const char* at, double* numbers, std::string_view& text) const noexcept;
  const char* any_row(const char* at);
  void judge_row(const char* at, const char* next);
  bool judge_fields(RefusedRow& refused, double* numbers);
  ParsedNumber number_in(std::size_t column);
  bool mend_trailing_delimiter();
  bool is_units() const noexcept;
  std::string_view text_of(const Field& field);

  std::vector<std::string> columns_;
  std::vector<ColumnUse> uses_;
  std::vector<Field> fields_;
  CsvRules rules_;
  NumberRules number_rules_;
  double (*code_)(const void*, std::size_t, std::string_view) noexcept;
  const void* code_context_;
  bool keeps_lines_;
  bool last_is_unnamed_;        // the header ends with a delimiter
  std::uint64_t below_header_;  // offset of the line that may hold units
  bool try_plain_;
  bool try_many_;                      // plain rows, many at once
  std::vector<int> number_places_;     // by column
  std::vector<std::uint32_t> begins_;  // of rows read at once
  std::size_t calm_ = 0;               // bytes that are likely to hold plain rows only
};

}  // namespace mixstream
