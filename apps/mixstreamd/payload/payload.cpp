#include "payload/payload.hpp"

#include <algorithm>
#include <utility>

#include "input/text.hpp"
#include "payload/reader.hpp"

namespace mixstream {
namespace {

std::string what(const PayloadRow& row) {
  if (row.undefined) return row.words.empty() ? "a feature has no value" : std::string(row.words);
  const std::string excerpt = joined({"\"", printable(row.excerpt.view()), "\""});
  switch (row.fault) {
    case RowFault::ragged:
      return "more or fewer numbers than columns";
    case RowFault::not_a_number:
      return joined({excerpt, " is not a number"});
    case RowFault::missing_value:
      return "missing value";
    case RowFault::infinite:
      return joined({excerpt, " is infinite or beyond the range of a double"});
    case RowFault::binary:
      return "a NUL byte: binary data in a text";
    case RowFault::open_quote:
      return joined({"a quoted field does not end properly; begins ", excerpt});
    case RowFault::bad_json:
      return joined({"neither an object nor an array of rows: ", excerpt});
    case RowFault::missing_key:
      return "there is no such field";
    case RowFault::bad_sequence:
      return "not a whole number from 0 to 2^53 - 1";
    case RowFault::bad_sensor:
      return joined({excerpt, " is not a name of at most ", std::to_string(longest_sensor), " bytes"});
    default:
      return name_of(row.fault);
  }
}

Done check_columns(const PayloadSettings& settings, const RowBuilder& rows) {
  const std::vector<std::string>& columns = settings.columns;
  for (const std::string& column : columns) {
    if (std::ranges::count(columns, column) > 1)
      return Refusal{Reason::bad_settings, "the column '" + column + "' stands twice"};
  }
  if (settings.format == PayloadFormat::f64 && !settings.map.text_columns().empty())
    return Refusal{Reason::bad_settings, "f64 holds numbers only, and the features take '" +
                                             settings.map.text_columns().front() + "' for a text"};
  if (settings.format == PayloadFormat::json && columns.empty()) return std::monostate{};
  for (const std::string& name : rows.names()) {
    const FieldUse use = rows.use_of(name);
    if (use.slot < 0 || !rows.is_required(use.slot)) continue;
    if (std::ranges::find(columns, name) == columns.end())
      return Refusal{Reason::bad_settings,
                     "the columns lack '" + name + "', which the features or the response need"};
  }
  return std::monostate{};
}

}  // namespace

std::string describe(const PayloadRow& refused) {
  std::string text = joined({"row ", std::to_string(refused.index + 1), ": "});
  if (!refused.column.empty()) text += joined({"field \"", printable(refused.column), "\": "});
  return text + what(refused);
}

const char* reason_of(const PayloadRow& refused) noexcept {
  return refused.undefined ? "undefined_feature" : name_of(refused.fault);
}

class PayloadParser::Work {
 public:
  explicit Work(const PayloadSettings& settings) : rows(settings) {
    switch (settings.format) {
      case PayloadFormat::json:
        reader = make_json_reader(settings, rows);
        break;
      case PayloadFormat::csv:
        reader = make_csv_reader(settings, rows);
        break;
      case PayloadFormat::f64:
        reader = make_f64_reader(settings, rows);
        break;
    }
  }

  RowBuilder rows;
  std::unique_ptr<PayloadReader> reader;
};

PayloadParser::PayloadParser(std::unique_ptr<Work> work) : work_(std::move(work)) {}
PayloadParser::PayloadParser(PayloadParser&&) noexcept = default;
PayloadParser& PayloadParser::operator=(PayloadParser&&) noexcept = default;
PayloadParser::~PayloadParser() = default;

Outcome<PayloadParser> PayloadParser::create(const PayloadSettings& settings) {
  if (settings.map.feature_count() == 0 || settings.response.empty())
    return Refusal{Reason::bad_settings, "rows need features and a response"};
  auto work = std::make_unique<Work>(settings);
  if (const Done done = check_columns(settings, work->rows); !done) return done.refusal();
  return PayloadParser(std::move(work));
}

std::span<const PayloadRow> PayloadParser::parse(std::span<const std::byte> payload, double arrival) {
  work_->rows.start(arrival);
  work_->reader->read({reinterpret_cast<const char*>(payload.data()), payload.size()}, work_->rows);
  return work_->rows.finish();
}

}  // namespace mixstream
