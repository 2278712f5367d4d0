#include "input/rows.hpp"

#include <algorithm>

#include "input/text.hpp"

namespace mixstream {
namespace {

std::string what(const RefusedRow& refused) {
  const std::string excerpt = printable(refused.excerpt.view());
  switch (refused.fault) {
    case RowFault::ragged:
      return joined({std::to_string(refused.fields), refused.fields == 1 ? " field" : " fields",
                     " instead of ", std::to_string(refused.expected)});
    case RowFault::not_a_number:
      return joined({"\"", excerpt, "\" is not a number"});
    case RowFault::missing_value:
      return "missing value";
    case RowFault::infinite:
      return joined({"\"", excerpt, "\" is infinite or beyond the range of a double"});
    case RowFault::line_too_long:
      return joined(
          {"longer than ", std::to_string(refused.expected), " bytes, skipped; begins \"", excerpt, "\""});
    case RowFault::binary:
      return "a NUL byte: binary data in a line of text";
    case RowFault::open_quote:
      return joined({"a quoted field does not end properly; begins \"", excerpt, "\""});
    case RowFault::bad_json:
      return joined({"not one JSON object: \"", excerpt, "\""});
    case RowFault::missing_key:
      return "the object lacks this key";
    default:
      return name_of(refused.fault);
  }
}

}  // namespace

std::string describe(const RefusedRow& refused) {
  const RowPlace& place = refused.place;
  std::string text = place.line > 0 ? joined({"line ", std::to_string(place.line), ": "})
                                    : joined({"byte ", std::to_string(place.offset), ": "});
  if (!refused.column.empty()) text += joined({"column \"", printable(refused.column), "\": "});
  return text + what(refused);
}

}  // namespace mixstream
