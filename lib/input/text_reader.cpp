#include "input/text_reader.hpp"

#include <cstring>
#include <utility>

namespace mixstream {

TextReader::TextReader(TextStart start, const Selection& selection, const InputSettings& settings)
    : window_(std::move(start.window)),
      builder_(selection, settings.batch_rows),
      max_line_(settings.max_line),
      range_end_(settings.range.end),
      line_(start.line),
      keeps_lines_(selection.keep_lines),
      dropping_(start.inside_line) {}

Outcome<Batch> TextReader::next() {
  for (;;) {
    builder_.start(window_.capacity());
    if (!finished_ && !broken_) parse();
    if (!builder_.empty()) return builder_.batch();
    if (broken_) return *broken_;
    if (finished_ || window_.ended()) {
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

void TextReader::parse() {
  const char* at = window_.begin();
  const char* const end = window_.end();
  if (dropping_) at = drop_rest_of_line(at);
  const auto* const last_newline =
      static_cast<const char*>(::memrchr(at, '\n', static_cast<std::size_t>(end - at)));
  const char* const complete = last_newline == nullptr ? at : last_newline + 1;
  const std::uint64_t in_range = range_end_ > window_.offset() ? range_end_ - window_.offset() : 0;
  const char* const limit = in_range < window_.size() ? window_.begin() + in_range : end;
  at = read_rows(at, std::min(complete, limit));
  if (at >= limit && limit != end) {
    finished_ = true;
  } else if (at == complete && static_cast<std::size_t>(end - at) > max_line_ && !builder_.full()) {
    refuse_line(RowFault::line_too_long, at, end);
    dropping_ = true;
    at = end;
  }
  window_.consume(at);
}

const char* TextReader::drop_rest_of_line(const char* at) {
  const std::size_t size = static_cast<std::size_t>(window_.end() - at);
  const auto* const newline = static_cast<const char*>(std::memchr(at, '\n', size));
  dropping_ = newline == nullptr;
  return dropping_ ? window_.end() : newline + 1;
}

const char* TextReader::refuse_line(RowFault fault, const char* at, const char* newline) {
  RefusedRow refused{fault, count_row(at), 0, {}, std::string_view{at, newline}, 0, 0};
  if (fault == RowFault::line_too_long) {
    refused.excerpt = std::string_view{at, max_line_};  // of the rest nobody knows yet how much there is
    refused.expected = max_line_;
  }
  if (keeps_lines_) {
    const bool whole = refused.fault != RowFault::line_too_long;
    refused.line = {at, whole ? static_cast<std::size_t>(newline - at) : max_line_};
    if (whole && refused.line.ends_with('\r')) refused.line.remove_suffix(1);
  }
  builder_.refuse(refused);
  count_lines(1);
  return newline + 1;
}

}  // namespace mixstream
