// A value or a refusal with a named reason and a text that says what to do.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace mixstream {

/// Why something was refused. Names are stable: they appear in JSON, logs and error codes.
enum class Reason {
  bad_settings,      ///< contradictory or out-of-range settings
  bad_input,         ///< bytes that hold no rows: empty, damaged, binary, or without the columns asked for
  bad_feature_map,   ///< the text of a feature map does not parse, or names an unknown column
  wrong_shape,       ///< dimensions do not agree
  too_large,         ///< would need more memory than the budget, or more time than is supported
  cannot_merge,      ///< two states that do not describe the same thing
  bad_snapshot,      ///< damaged, truncated or foreign state file
  unknown_version,   ///< a state file from a later version
  input_output,      ///< the operating system refused
  too_few_rows,      ///< not enough rows yet
  not_identifiable,  ///< the moments do not determine the answer
  numerical,         ///< a computation broke down; nothing non-finite is handed out
};

/// The stable name of a reason, such as "too_few_rows". No throw, no allocation.
const char* name_of(Reason reason) noexcept;

struct Refusal {
  Reason reason;
  std::string text;  ///< one sentence: what is wrong and what to do
};

/// A value or a refusal. `if (!outcome) return outcome.refusal();`
template <class Value>
class [[nodiscard]] Outcome {
 public:
  Outcome(Value value) : content_(std::in_place_index<0>, std::move(value)) {}
  Outcome(Refusal refusal) : content_(std::in_place_index<1>, std::move(refusal)) {}

  explicit operator bool() const noexcept { return content_.index() == 0; }
  Value& value() & { return std::get<0>(content_); }
  const Value& value() const& { return std::get<0>(content_); }
  Value&& value() && { return std::get<0>(std::move(content_)); }
  const Refusal& refusal() const { return std::get<1>(content_); }

 private:
  std::variant<Value, Refusal> content_;
};

/// Done, or a refusal: for what has no value to give.
using Done = Outcome<std::monostate>;

}  // namespace mixstream
