#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "input/fields.hpp"
#include "input/number.hpp"
#include "input/text.hpp"
#include "payload/reader.hpp"

namespace mixstream {
namespace {

static_assert(PaddedBytes::padding > plain_reach + 1);

class CsvPayloadReader final : public PayloadReader {
 public:
  CsvPayloadReader(const PayloadSettings& settings, const RowBuilder& rows)
      : uses_(uses_of(settings.columns, rows)), delimiter_(settings.delimiter) {}

  void read(std::string_view payload, RowBuilder& rows) override {
    const std::string_view text = bytes_.hold(payload, '\n');
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
      const char* const newline = static_cast<const char*>(std::memchr(at, '\n', end + 1 - at));
      if (is_blank(at, newline)) {
        at = newline + 1;
        continue;
      }
      const char* const next = read_plain(at, rows);
      at = next != nullptr ? next : read_row(at, newline, end + 1, rows);
    }
  }

 private:
  /// A row without quotes, in one go; null if it is not that simple: then it is begun anew.
  const char* read_plain(const char* at, RowBuilder& rows) const {
    rows.begin_row();
    for (std::size_t i = 0;; ++i, ++at) {
      const bool last = i + 1 == uses_.size();
      const char* const end = take_plain(at, uses_[i], rows);
      at = last && *end == '\r' ? end + 1 : end;
      if (*at != (last ? '\n' : delimiter_)) return nullptr;
      if (last) break;
    }
    rows.end_row();
    return at + 1;
  }

  /// The byte behind a field: a delimiter, a line end, or what makes the row less simple.
  const char* take_plain(const char* at, const FieldUse& use, RowBuilder& rows) const {
    if (use.slot >= 0 && !use.sensor && !use.text) {
      double value = 0.0;
      const char* const end = parse_plain(at, value);
      if (end != nullptr && (*end == delimiter_ || *end == '\n' || *end == '\r')) {
        rows.put(use.slot, {NumberKind::number, value}, {at, end});
        return end;
      }
    }
    const char* end = field_end(at, delimiter_);
    if (*end == '\n' && end != at && end[-1] == '\r') --end;
    if (use.any()) take({{at, end}}, use, rows);
    return end;
  }

  const char* read_row(const char* at, const char* newline, const char* end, RowBuilder& rows) {
    const std::string_view line(at, newline);
    if (line.find('\0') != std::string_view::npos) {
      rows.refuse_row(RowFault::binary, line);
      return newline + 1;
    }
    const char* next = newline + 1;
    if (cut_row(at, end, delimiter_, fields_, next) != Cut::row) {
      rows.refuse_row(RowFault::open_quote, line);
      return newline + 1;
    }
    if (fields_.size() != uses_.size()) {
      rows.refuse_row(RowFault::ragged, line);
      return next;
    }
    rows.begin_row();
    for (std::size_t i = 0; i < uses_.size(); ++i) take(fields_[i], uses_[i], rows);
    rows.end_row();
    return next;
  }

  static void take(const Field& field, const FieldUse& use, RowBuilder& rows) {
    if (use.slot >= 0 && !use.text) rows.put(use.slot, parse_number(field.bytes), field.bytes);
    if (!use.sensor && !use.text) return;
    const std::string_view text = field.quoted ? field.bytes : without_blanks(field.bytes);
    std::string single;
    if (field.doubled) append_unquoted(field, single);
    if (use.text) rows.put_text(use.slot, field.doubled ? single : text);
    if (!use.sensor) return;
    if (!field.doubled) return rows.put_sensor(text);
    rows.put_sensor(std::move(single));
  }

  bool is_blank(const char* at, const char* newline) const noexcept {
    return std::all_of(at, newline,
                       [this](char c) { return (c == ' ' || c == '\t' || c == '\r') && c != delimiter_; });
  }

  std::vector<FieldUse> uses_;
  char delimiter_;
  PaddedBytes bytes_;
  std::vector<Field> fields_;
};

}  // namespace

std::unique_ptr<PayloadReader> make_csv_reader(const PayloadSettings& settings, const RowBuilder& rows) {
  return std::make_unique<CsvPayloadReader>(settings, rows);
}

}  // namespace mixstream
