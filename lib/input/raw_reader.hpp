// Rows of little-endian doubles or floats, one behind the other.
#pragma once

#include <optional>

#include "input/batch_builder.hpp"
#include "input/columns.hpp"
#include "input/window.hpp"

namespace mixstream {

class RawReader final : public RowReader {
 public:
  /// The window begins with a row.
  RawReader(Window window, Format format, std::vector<std::string> columns, std::vector<ColumnUse> uses,
            const Selection& selection, const InputSettings& settings);

  Outcome<Batch> next() override;
  std::uint64_t bytes_taken() const noexcept override { return window_.bytes_taken(); }
  std::uint64_t offset() const noexcept override { return window_.offset(); }

 private:
  void read_rows();
  void refuse_rest();
  RowPlace count_row() noexcept;
  void judge_row(const char* at);
  double value_at(const char* at, std::size_t column) const noexcept;

  Window window_;
  BatchBuilder builder_;
  std::vector<std::string> columns_;
  std::vector<ColumnUse> uses_;
  std::uint64_t range_end_;
  std::uint64_t rows_ = 0;
  std::size_t value_bytes_;
  std::size_t row_bytes_;
  std::uint64_t rows_before_;  // in the file, before the range
  std::optional<Refusal> broken_;
};

}  // namespace mixstream
