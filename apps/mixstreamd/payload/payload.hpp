// Rows from the bytes of one message: JSON, CSV lines or a block of doubles.
//
//   JSON   {"t": 1.5, "y": 2.0, "seq": 7}                                  one row
//          [{"t": 1.5, "y": 2.0}, {"t": 1.6, "y": 2.1}]                    rows
//          {"sensor": "a", "seq": 7, "rows": [{"t": 1.5, "y": 2.0}, ...]}  rows that share fields; seq counts
//          up
//          [[1.5, 2.0], [1.6, 2.1]], {"rows": [[1.5, 2.0]]}                numbers in the order of `columns`
//   CSV    lines without a header, fields in the order of `columns`
//   f64    little-endian doubles, row after row, in the order of `columns`
//
//   PayloadParser parser = PayloadParser::create(settings).value();
//   for (const PayloadRow& row : parser.parse(message.payload, message.arrival)) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "input/rows.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/rows/feature_map.hpp"
#include "mixstream/rows/row.hpp"

namespace mixstream {

enum class PayloadFormat : std::uint8_t { json, csv, f64 };

struct PayloadSettings {
  PayloadFormat format = PayloadFormat::json;
  FeatureMap map;                    ///< its columns are fields of a row
  std::string response = "y";        ///< the field y
  std::vector<std::string> columns;  ///< CSV, f64 and JSON rows that are arrays: the fields, in order
  char delimiter = ',';              ///< of CSV
  std::string sensor = "sensor";     ///< optional fields; an empty name: there is none
  std::string epoch = "epoch";
  std::string sequence = "seq";
  std::string time = "time";      ///< seconds; a row without one has the message's arrival
  std::string weight = "weight";  ///< a row without one has weight 1
};

inline constexpr std::size_t longest_sensor = 256;  ///< bytes

/// One row of a message. Views hold until the next parse.
struct PayloadRow {
  std::size_t index = 0;  ///< in the message, refused rows counted
  RowFault fault = RowFault::none;
  bool undefined = false;   ///< refused, not_a_number: a feature has no value there, such as log(-1)
  Row row;                  ///< unless refused; its numbers are finite, its features may overflow
  std::string_view sensor;  ///< empty: the row names none
  bool numbered = false;    ///< whether it has a sequence number (also when it is refused otherwise)
  std::uint64_t epoch = 0;  ///< 0 where there is none
  std::uint64_t sequence = 0;
  std::string_view column;    ///< refused: the field at fault, or empty
  Excerpt excerpt;            ///< refused: the beginning of the offending text; may hold any byte
  std::string_view words;     ///< undefined: which feature, and why; of the first such row of a message only
  std::uint64_t repeats = 1;  ///< rows in succession that are no rows at all are told once, with their number
};

/// One line for the log, such as: row 3: field "y": "abc" is not a number.
std::string describe(const PayloadRow& refused);

/// The reason that a refused row is counted by, as `mixstream fit` counts it. No throw, no allocation.
const char* reason_of(const PayloadRow& refused) noexcept;

/// One thread at a time. A message that is no rows at all gives one refused row.
class PayloadParser {
 public:
  /// Refuses columns that lack a field of the feature map or the response, or name one twice.
  static Outcome<PayloadParser> create(const PayloadSettings& settings);
  PayloadParser(PayloadParser&&) noexcept;
  PayloadParser& operator=(PayloadParser&&) noexcept;
  ~PayloadParser();

  /// The rows of a message, in order. After the first messages of a size no allocation.
  std::span<const PayloadRow> parse(std::span<const std::byte> payload, double arrival);

 private:
  class Work;
  explicit PayloadParser(std::unique_ptr<Work> work);
  std::unique_ptr<Work> work_;
};

}  // namespace mixstream
