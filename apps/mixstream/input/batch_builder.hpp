// The memory behind a Batch, filled row by row and used again for the next batch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "input/input.hpp"
#include "input/number.hpp"

namespace mixstream {

/// The fault of a field that should have been a number. Only for kinds other than NumberKind::number.
constexpr RowFault fault_of(NumberKind kind) noexcept {
  return kind == NumberKind::missing    ? RowFault::missing_value
         : kind == NumberKind::infinite ? RowFault::infinite
                                        : RowFault::not_a_number;
}

class BatchBuilder {
 public:
  BatchBuilder(const Selection& selection, std::size_t most_rows)
      : width_(selection.numbers.size()),
        numbers_(most_rows * width_),
        places_(most_rows),
        texts_(selection.text.empty() ? 0 : most_rows),
        lines_(selection.keep_lines ? most_rows : 0) {
    refused_.reserve(most_rows);
  }

  /// Forgets the last batch. text_bytes: of the input that kept() texts may come from until the next call.
  void start(std::size_t text_bytes) {
    rows_ = 0;
    refused_.clear();
    kept_.clear();
    if (!texts_.empty()) kept_.reserve(text_bytes + number_text * texts_.size());
  }

  bool full() const noexcept { return rows_ == places_.size() || refused_.size() == refused_.capacity(); }
  bool empty() const noexcept { return rows_ == 0 && refused_.empty(); }
  std::size_t room() const noexcept { return places_.size() - rows_; }
  std::size_t width() const noexcept { return width_; }

  /// Where the next row's numbers go.
  double* numbers() noexcept { return numbers_.data() + rows_ * width_; }

  /// The numbers are in place: the row counts.
  void accept(const RowPlace& place, std::string_view text, std::string_view line) noexcept {
    places_[rows_] = place;
    if (!texts_.empty()) texts_[rows_] = text;
    if (!lines_.empty()) lines_[rows_] = line;
    ++rows_;
  }

  void refuse(RefusedRow refused) {
    refused.rows_before = rows_;
    refused_.push_back(refused);
  }

  /// Room for a text that does not stand in the input as it is. Its memory stays in place until start().
  std::string& kept() noexcept { return kept_; }

  Batch batch() const noexcept {
    Batch batch{rows_, width_, numbers_.data(), {places_.data(), rows_}, {}, {}, refused_, false};
    if (!texts_.empty()) batch.texts = {texts_.data(), rows_};
    if (!lines_.empty()) batch.lines = {lines_.data(), rows_};
    return batch;
  }

 private:
  static constexpr std::size_t number_text = 32;  // a number may be longer as text than it was in the input

  std::size_t width_;
  std::size_t rows_ = 0;
  std::vector<double> numbers_;
  std::vector<RowPlace> places_;
  std::vector<std::string_view> texts_;
  std::vector<std::string_view> lines_;
  std::vector<RefusedRow> refused_;
  std::string kept_;
};

}  // namespace mixstream
