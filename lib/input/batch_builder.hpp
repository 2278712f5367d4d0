// The memory behind a Batch, filled row by row and used again for the next batch.
#pragma once

#include <string>
#include <string_view>
#include <utility>
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
        keeps_texts_(!selection.text.empty() || !selection.coded.empty()),
        lines_(selection.keep_lines ? most_rows : 0) {
    refused_.reserve(most_rows);
  }

  /// Forgets the last batch. text_bytes: of the input that kept() texts may come from until the next call.
  void start(std::size_t text_bytes) {
    rows_ = 0;
    refused_.clear();
    kept_.clear();
    if (keeps_texts_) kept_.reserve(text_bytes + number_text * (texts_.size() + 1));
  }

  void count_comment() noexcept { ++comments_; }
  void pass_over_units(std::uint64_t line) noexcept { units_line_ = line; }
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

  /// What there is; lines that were passed over are told once.
  Batch batch() noexcept {
    Batch batch{rows_, width_, numbers_.data(), {places_.data(), rows_}, {}, {}, refused_, false};
    batch.comments = std::exchange(comments_, 0);
    batch.units_line = std::exchange(units_line_, 0);
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
  bool keeps_texts_;
  std::vector<std::string_view> lines_;
  std::vector<RefusedRow> refused_;
  std::string kept_;
  std::uint64_t comments_ = 0;
  std::uint64_t units_line_ = 0;
};

}  // namespace mixstream
