#include "input/raw_reader.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace mixstream {

static_assert(std::endian::native == std::endian::little, "raw rows are little-endian and read as they are");

RawReader::RawReader(Window window, Format format, std::vector<std::string> columns,
                     std::vector<ColumnUse> uses, const Selection& selection, const InputSettings& settings)
    : window_(std::move(window)),
      builder_(selection, settings.batch_rows),
      columns_(std::move(columns)),
      uses_(std::move(uses)),
      range_end_(settings.range.end),
      value_bytes_(format == Format::f64 ? sizeof(double) : sizeof(float)),
      row_bytes_(columns_.size() * value_bytes_),
      rows_before_(window_.offset() / row_bytes_) {}

Outcome<Batch> RawReader::next() {
  for (;;) {
    builder_.start(0);
    if (!broken_) read_rows();
    if (builder_.empty() && window_.ended() && window_.size() > 0 && window_.offset() < range_end_)
      refuse_rest();
    if (!builder_.empty()) return builder_.batch();
    if (broken_) return *broken_;
    if (window_.offset() >= range_end_ || window_.ended()) {
      Batch batch = builder_.batch();
      batch.end = true;
      return batch;
    }
    const auto arrival = window_.more();
    if (!arrival) {
      broken_ = arrival.refusal();
    } else if (arrival.value().bytes == 0 && !arrival.value().end) {
      return builder_.batch();
    }
  }
}

void RawReader::read_rows() {
  while (window_.size() >= row_bytes_ && window_.offset() < range_end_ && !builder_.full()) {
    judge_row(window_.begin());
    window_.consume(window_.begin() + row_bytes_);
  }
}

/// The input ended inside a row.
void RawReader::refuse_rest() {
  builder_.refuse({RowFault::ragged, count_row(), 0, {}, {}, window_.size() / value_bytes_, columns_.size()});
  window_.consume(window_.end());
}

/// Rows have no lines; their number in the file stands for it, also in a range.
RowPlace RawReader::count_row() noexcept {
  ++rows_;
  return {rows_, rows_before_ + rows_, window_.offset()};
}

void RawReader::judge_row(const char* at) {
  const RowPlace place = count_row();
  double* const numbers = builder_.numbers();
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    if (uses_[i].number < 0) continue;
    const double value = value_at(at, i);
    numbers[uses_[i].number] = value;
    if (std::isfinite(value)) continue;
    const bool missing = std::isnan(value);
    builder_.refuse({missing ? RowFault::missing_value : RowFault::infinite, place, 0, columns_[i],
                     std::string_view(missing ? "nan" : "inf"), 0, 0});
    return;
  }
  builder_.accept(place, {}, {at, row_bytes_});
}

double RawReader::value_at(const char* at, std::size_t column) const noexcept {
  if (value_bytes_ == sizeof(double)) {
    double value;
    std::memcpy(&value, at + column * sizeof value, sizeof value);
    return value;
  }
  float value;
  std::memcpy(&value, at + column * sizeof value, sizeof value);
  return value;
}

}  // namespace mixstream
