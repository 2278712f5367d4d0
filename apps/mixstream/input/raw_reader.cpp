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
      value_bytes_(format == Format::f64 ? sizeof(double) : sizeof(float)) {}

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
  const std::size_t row_bytes = columns_.size() * value_bytes_;
  while (window_.size() >= row_bytes && window_.offset() < range_end_ && !builder_.full()) {
    judge_row(window_.begin());
    window_.consume(window_.begin() + row_bytes);
  }
}

/// The input ended inside a row.
void RawReader::refuse_rest() {
  const std::uint64_t row = ++rows_;
  builder_.refuse({RowFault::ragged,
                   {row, row, window_.offset()},
                   0,
                   {},
                   {},
                   window_.size() / value_bytes_,
                   columns_.size()});
  window_.consume(window_.end());
}

void RawReader::judge_row(const char* at) {
  const std::uint64_t row = ++rows_;
  const RowPlace place{row, row, window_.offset()};
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
  builder_.accept(place, {}, {at, columns_.size() * value_bytes_});
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
