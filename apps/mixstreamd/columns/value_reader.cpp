#include "value_reader.hpp"

#include <simdjson.h>

#include <cmath>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "payload/payload.hpp"
#include "payload/reader.hpp"

namespace mixstream {
namespace {

namespace dom = simdjson::dom;

constexpr double missing = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t longest_value = 65536;  // bytes of a message

ReadValue faulty(RowFault fault) {
  return {name_of(fault), missing, missing, missing, missing};
}

}  // namespace

class ValueReader::Work {
 public:
  explicit Work(ValueFields names) : fields(std::move(names)) {}

  /// False: it is there and no number.
  static bool take(const dom::object& object, const std::string& name, double& number) {
    number = missing;
    dom::element element;
    if (name.empty() || object.at_key(name).get(element) != simdjson::SUCCESS || element.is_null())
      return true;
    return element.get(number) == simdjson::SUCCESS;
  }

  ReadValue read_object(const dom::object& object) const {
    ReadValue read;
    if (!take(object, fields.value, read.value)) return faulty(RowFault::not_a_number);
    if (std::isnan(read.value)) return faulty(RowFault::missing_value);
    const bool sound = take(object, fields.time, read.time) && take(object, fields.sequence, read.sequence) &&
                       take(object, fields.epoch, read.epoch);
    return sound ? read : faulty(RowFault::not_a_number);
  }

  ValueFields fields;
  dom::parser parser;
  PaddedBytes bytes;
};

ValueReader::ValueReader(ValueFields fields) : work_(std::make_unique<Work>(std::move(fields))) {}
ValueReader::ValueReader(ValueReader&&) noexcept = default;
ValueReader& ValueReader::operator=(ValueReader&&) noexcept = default;
ValueReader::~ValueReader() = default;

ReadValue ValueReader::read(std::span<const std::byte> payload) {
  if (payload.size() > longest_value) return faulty(RowFault::bad_json);
  const std::string_view text =
      work_->bytes.hold({reinterpret_cast<const char*>(payload.data()), payload.size()});
  dom::element root;
  const simdjson::error_code error = work_->parser.parse(text.data(), text.size(), false).get(root);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();  // that is no fault of the message
  if (error != simdjson::SUCCESS) return faulty(RowFault::not_a_number);
  if (dom::object object; root.get(object) == simdjson::SUCCESS) return work_->read_object(object);
  double number = 0.0;
  if (root.get(number) != simdjson::SUCCESS) return faulty(RowFault::not_a_number);
  return {nullptr, number, missing, missing, missing};
}

}  // namespace mixstream
