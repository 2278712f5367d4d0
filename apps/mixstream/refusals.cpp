#include "refusals.hpp"

#include <fmt/format.h>

#include "input/bytes.hpp"

namespace mixstream {
namespace {

const char* words_of(RowVerdict verdict) {
  switch (verdict) {
    case RowVerdict::bad_weight:
      return "the weight is zero, negative, or outside 1e-100 to 1e15";
    case RowVerdict::too_large:
      return "a feature or the response is too large: its sixth power could overflow";
    case RowVerdict::clock_jump:
      return "the time is more than 64 half-lives away from the rows around it";
    case RowVerdict::not_a_number:
      return "a feature is not a number";
    case RowVerdict::infinite:
      return "a feature is infinite";
    default:
      return name_of(verdict);
  }
}

}  // namespace

std::string with_place(const RefusedWords& refused, const std::string& path) {
  if (refused.place.line > 0) return fmt::format("line {}: {}", refused.place.line, refused.words);
  if (path != "-") {
    const Outcome<std::uint64_t> line = line_number_at(path, refused.place.offset);
    if (line) return fmt::format("line {}: {}", line.value(), refused.words);
  }
  return fmt::format("byte {}: {}", refused.place.offset, refused.words);
}

bool RefusalListener::judge(RefusedWords refused) {
  tell(refused);
  return !refused.fatal;
}

bool RefusalListener::refused(const RefusedRow& row) {
  const bool missing = row.fault == RowFault::missing_value;
  const bool fatal = policy_.strict || (missing && policy_.missing_is_error);
  std::string words = describe(row);
  words.erase(0, words.find(": ") + 2);  // the place, which a range does not know
  return judge({row.place, std::move(words), fatal, missing && !fatal});
}

bool RefusalListener::refused(RowVerdict verdict, const RowPlace& place) {
  return judge({place, words_of(verdict), policy_.strict, false});
}

bool RefusalListener::refused_group(std::string_view group, const RowPlace& place) {
  return judge({place, fmt::format("group \"{}\" is one too many", group), policy_.strict, false});
}

}  // namespace mixstream
