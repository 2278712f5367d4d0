// One reader for each format: the bytes of a message into a RowBuilder.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "payload/payload.hpp"
#include "payload/row_builder.hpp"

namespace mixstream {

class PayloadReader {
 public:
  virtual ~PayloadReader() = default;
  /// Puts the rows of a payload into the builder, which has been started. The bytes and what the reader keeps
  /// of them live until the next call.
  virtual void read(std::string_view payload, RowBuilder& rows) = 0;
};

std::unique_ptr<PayloadReader> make_json_reader(const PayloadSettings& settings, const RowBuilder& rows);
std::unique_ptr<PayloadReader> make_csv_reader(const PayloadSettings& settings, const RowBuilder& rows);
std::unique_ptr<PayloadReader> make_f64_reader(const PayloadSettings& settings, const RowBuilder& rows);

/// What each of the columns is good for.
inline std::vector<FieldUse> uses_of(const std::vector<std::string>& columns, const RowBuilder& rows) {
  std::vector<FieldUse> uses;
  for (const std::string& column : columns) uses.push_back(rows.use_of(column));
  return uses;
}

/// A copy of a payload with readable bytes behind it; keeps its memory.
class PaddedBytes {
 public:
  static constexpr std::size_t padding = 64;

  /// `end` follows the text, then zeros.
  std::string_view hold(std::string_view text, char end = '\0') {
    if (bytes_.size() < text.size() + padding) bytes_.resize(text.size() + padding);
    std::copy(text.begin(), text.end(), bytes_.begin());
    const auto behind = bytes_.begin() + static_cast<std::ptrdiff_t>(text.size());
    std::fill_n(behind, padding, '\0');
    *behind = end;
    return {bytes_.data(), text.size()};
  }

 private:
  std::vector<char> bytes_;
};

}  // namespace mixstream
