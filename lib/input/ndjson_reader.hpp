// Rows of numbers from lines that each hold one JSON object.
#pragma once

#include <simdjson.h>

#include "input/columns.hpp"
#include "input/number_rules.hpp"
#include "input/text_reader.hpp"

namespace mixstream {

/// The keys of the object on a line, in order, each once, those of objects in it as motor.load; none if it is
/// not one object. The line needs
/// Window::padding readable bytes behind it.
std::vector<std::string> keys_of(std::string_view line);

class NdjsonReader final : public TextReader {
 public:
  NdjsonReader(TextStart start, std::vector<std::string> columns, std::vector<ColumnUse> uses,
               const Selection& selection, const InputSettings& settings);

 private:
  const char* read_rows(const char* at, const char* stop) override;
  void judge_line(const char* at, const char* newline);
  void find_values_of(const simdjson::dom::object& object, std::size_t& guess, std::size_t depth);
  bool find_values(const char* at, const char* newline, RefusedRow& refused);
  std::size_t column_of(std::string_view key, std::size_t guess) const noexcept;
  ParsedNumber number_in(std::size_t column);
  bool take_number(std::size_t column, RefusedRow& refused, double* numbers);
  bool take_text(std::size_t column, RefusedRow& refused, std::string_view& text);

  std::vector<std::string> columns_;
  std::vector<ColumnUse> uses_;
  simdjson::dom::parser parser_;
  std::vector<simdjson::dom::element> values_;  // of the line's keys, by column
  std::vector<char> found_;                     // whether the line has the key
  std::string path_;                            // of the object at hand, with a point behind each name
  std::string coded_text_;
  NumberRules number_rules_;
  double (*code_)(const void*, std::size_t, std::string_view) noexcept;
  const void* code_context_;
  bool keeps_lines_;
};

}  // namespace mixstream
